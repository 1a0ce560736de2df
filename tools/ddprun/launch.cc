#include "tools/ddprun/launch.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tools/ddprun/monotonic_clock.h"

namespace lockstep::ddprun {

Launch::Launch(const LaunchPlan& plan) {
  Pipe out, err, life;
  EXPECT_TRUE(OpenPipe(out).ok() && OpenPipe(err).ok() && OpenPipe(life).ok());
  pid_ = fork();
  EXPECT_GE(pid_, 0);
  if (pid_ == 0) RunChild(plan, out, err, life);
  out_.fd = std::move(out.read);
  err_.fd = std::move(err.read);
  life_.fd = std::move(life.read);
}

void Launch::RunChild(const LaunchPlan& plan, Pipe& out, Pipe& err, Pipe& life) const {
  if (plan.gate != nullptr) {
    close(plan.gate->write.get());
    char ignored;
    while (read(plan.gate->read.get(), &ignored, 1) > 0) {
    }
  }
  dup2(plan.input >= 0 ? plan.input : open("/dev/null", O_RDONLY), STDIN_FILENO);
  dup2(out.write.get(), STDOUT_FILENO);
  dup2(err.write.get(), STDERR_FILENO);
  fcntl(life.write.get(), F_SETFD, 0);
  std::vector<std::string> words = plan.wrapper;
  words.push_back(ProgramPath("ddprun"));
  words.insert(words.end(), plan.arguments.begin(), plan.arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(&word[0]);
  argv.push_back(nullptr);
  execv(argv[0], argv.data());
  _exit(99);
}

Launch::~Launch() {
  if (pid_ <= 0) return;
  Signal(SIGKILL);
  waitpid(pid_, nullptr, 0);
}

void Launch::Signal(int signal_number) const { kill(pid_, signal_number); }

void Launch::ReadFrom(Stream& stream) {
  char chunk[64 << 10];
  const ssize_t length = read(stream.fd.get(), chunk, sizeof(chunk));
  if (length > 0) stream.text.append(chunk, static_cast<size_t>(length));
  if (length == 0) stream.fd.Close();
}

bool Launch::ReadSome(absl::Duration limit) {
  pollfd polled[] = {{reads_out_ ? out_.fd.get() : -1, POLLIN, 0}, {err_.fd.get(), POLLIN, 0}, {life_.fd.get(), POLLIN, 0}};
  if (polled[0].fd < 0 && polled[1].fd < 0 && polled[2].fd < 0) return false;
  if (poll(polled, 3, static_cast<int>(absl::ToInt64Milliseconds(limit))) <= 0) return false;
  Stream* const streams[] = {&out_, &err_, &life_};
  for (int i = 0; i < 3; ++i) {
    if (polled[i].revents != 0) ReadFrom(*streams[i]);
  }
  return true;
}

bool Launch::WaitFor(absl::string_view text) {
  const absl::Duration deadline = MonotonicNow() + kDeadline;
  while (!absl::StrContains(out_.text, text) && !absl::StrContains(err_.text, text)) {
    const absl::Duration left = deadline - MonotonicNow();
    if (left <= absl::ZeroDuration() || !ReadSome(left)) return false;
  }
  return true;
}

bool Launch::WaitForAllToEnd() {
  const absl::Duration deadline = MonotonicNow() + kDeadline;
  for (;;) {
    const absl::Duration left = deadline - MonotonicNow();
    if (left <= absl::ZeroDuration() || !ReadSome(left)) break;
  }
  return !life_.fd.open() && !err_.fd.open() && (!reads_out_ || !out_.fd.open());
}

Outcome Launch::Finish() {
  EXPECT_TRUE(WaitForAllToEnd()) << "still running, or holding the output open; so far it wrote:\n" << out() << err();
  int status = 0;
  if (life_.fd.open()) Signal(SIGKILL);
  waitpid(std::exchange(pid_, -1), &status, 0);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), out_.text, err_.text};
}

Outcome RunDdprun(const LaunchPlan& plan) { return Launch(plan).Finish(); }

LaunchPlan ShellPlan(int ranks, absl::string_view script) {
  return {{absl::StrCat("--nproc_per_node=", ranks), "/bin/sh", "-c", std::string(script)}};
}

Outcome RunShell(int ranks, absl::string_view script) { return RunDdprun(ShellPlan(ranks, script)); }

std::string ProgramPath(absl::string_view name) {
  return absl::StrCat(getenv("TEST_SRCDIR"), "/", getenv("TEST_WORKSPACE"), "/tools/ddprun/", name);
}

std::string WordAfter(absl::string_view text, absl::string_view label) {
  const size_t found = text.find(label);
  if (found == text.npos) return "";
  const absl::string_view rest = text.substr(found + label.size());
  return std::string(rest.substr(0, rest.find_first_of(" \n")));
}

int NumberAfter(absl::string_view text, absl::string_view label) {
  int number = 0;
  return absl::SimpleAtoi(WordAfter(text, label), &number) ? number : 0;
}

}  // namespace lockstep::ddprun
