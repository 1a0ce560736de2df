#include "transports/testing/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/time/clock.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

constexpr int kExpectationFailed = 77;  // no exit code of a sanitizer's

void WriteLine(int pipe, absl::string_view text) {
  const std::string line = absl::StrCat(absl::StrReplaceAll(text, {{"\n", " "}}), "\n");
  if (write(pipe, line.data(), line.size()) != static_cast<ssize_t>(line.size())) _exit(1);
}

}  // namespace

ChildProcess::ChildProcess(const std::function<void(const Tell&)>& body) {
  int ends[2] = {-1, -1};
  EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const pid_t test = getpid();
  const bool had_failed = ::testing::Test::HasFailure();
  pid_ = fork();
  EXPECT_GE(pid_, 0);
  if (pid_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);  // should the test itself be killed
    if (getppid() != test) _exit(1);   // it has been, already
    close(ends[0]);
    // An exception ends this process here; it shall not run the test's destructors, which kill its other children.
    [&]() noexcept { body([pipe = ends[1]](absl::string_view line) { WriteLine(pipe, line); }); }();
    _exit(::testing::Test::HasFailure() && !had_failed ? kExpectationFailed : 0);
  }
  close(ends[1]);
  lines_ = ends[0];
}

ChildProcess::~ChildProcess() {
  Signal(SIGKILL);
  if (IsToBeWaitedFor()) waitpid(pid_, nullptr, 0);
  close(lines_);
}

bool ChildProcess::ReadMore(absl::Time deadline) {
  pollfd readable = {lines_, POLLIN, 0};
  const int64_t left = std::max<int64_t>(0, absl::ToInt64Milliseconds(deadline - absl::Now()));
  if (poll(&readable, 1, static_cast<int>(left)) != 1) return false;
  std::array<char, 4096> bytes;
  const ssize_t count = read(lines_, bytes.data(), bytes.size());
  at_end_ = count <= 0;
  if (!at_end_) unread_.append(bytes.data(), static_cast<size_t>(count));
  return true;
}

std::string ChildProcess::NextLine() {
  const absl::Time deadline = absl::Now() + kPatience;
  size_t end;
  while ((end = unread_.find('\n')) == std::string::npos) {
    if (at_end_) return "";
    if (!ReadMore(deadline)) return absl::StrCat("(told nothing for ", absl::FormatDuration(kPatience), ")");
  }
  std::string line = unread_.substr(0, end);
  unread_.erase(0, end + 1);
  return line;
}

std::string ChildProcess::WaitForEnd() {
  if (!IsToBeWaitedFor()) return "has been waited for";
  const absl::Time deadline = absl::Now() + kPatience;
  while (!at_end_) {
    if (!ReadMore(deadline)) return absl::StrCat("still runs after ", absl::FormatDuration(kPatience));
  }
  int status = 0;
  EXPECT_EQ(waitpid(pid_, &status, 0), pid_);  // at once: its end of the pipe is closed only with it
  ended_ = true;
  if (WIFSIGNALED(status)) return absl::StrCat("killed by ", strsignal(WTERMSIG(status)));
  if (WEXITSTATUS(status) == kExpectationFailed) return "an expectation failed in it";
  return WEXITSTATUS(status) == 0 ? "" : absl::StrCat("exited with ", WEXITSTATUS(status));
}

// Never to -1 or to the pid of one that is no more: the first would be everybody, the second anybody.
void ChildProcess::Signal(int signal) const {
  if (IsToBeWaitedFor()) kill(pid_, signal);
}

}  // namespace lockstep
