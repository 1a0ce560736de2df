#include "transports/testing/child_process.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

void WriteLine(int pipe, absl::string_view text) {
  const std::string line = absl::StrCat(absl::StrReplaceAll(text, {{"\n", " "}}), "\n");
  if (write(pipe, line.data(), line.size()) != static_cast<ssize_t>(line.size())) _exit(1);
}

}  // namespace

ChildProcess::ChildProcess(const std::function<void(const Tell&)>& body) {
  int ends[2] = {-1, -1};
  EXPECT_EQ(pipe(ends), 0);
  pid_ = fork();
  EXPECT_GE(pid_, 0);
  if (pid_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);  // should the test itself be killed
    close(ends[0]);
    body([pipe = ends[1]](absl::string_view line) { WriteLine(pipe, line); });
    _exit(::testing::Test::HasFailure() ? 1 : 0);
  }
  close(ends[1]);
  lines_ = fdopen(ends[0], "r");
}

ChildProcess::~ChildProcess() {
  Signal(SIGKILL);
  waitpid(pid_, nullptr, 0);
  std::fclose(lines_);
}

std::string ChildProcess::NextLine() {
  char* text = nullptr;
  size_t capacity = 0;
  const ssize_t length = getline(&text, &capacity, lines_);
  std::string line(text, length > 0 ? static_cast<size_t>(length - 1) : 0);
  std::free(text);
  return line;
}

void ChildProcess::Signal(int signal) const { kill(pid_, signal); }

}  // namespace lockstep
