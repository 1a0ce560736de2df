// A fork of the test that runs a function, tells the test lines, and may be stopped or killed.
//
//   ChildProcess child([](const ChildProcess::Tell& tell) { tell("ready"); pause(); });
//   ASSERT_EQ(child.NextLine(), "ready");
//   child.Signal(SIGKILL);
//
// Make it before the test starts any thread.
#ifndef LOCKSTEP_TRANSPORTS_TESTING_CHILD_PROCESS_H_
#define LOCKSTEP_TRANSPORTS_TESTING_CHILD_PROCESS_H_

#include <sys/types.h>

#include <cstdio>
#include <functional>
#include <string>

#include "absl/strings/string_view.h"

namespace lockstep {

class ChildProcess {
 public:
  // Sends one line to the test.
  using Tell = std::function<void(absl::string_view line)>;

  // The child ends when `body` returns, or with the test.
  explicit ChildProcess(const std::function<void(const Tell&)>& body);
  // Kills it if it still runs.
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  // The next line that it tells, without its end; "" once it has ended.
  std::string NextLine();
  void Signal(int signal) const;
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = -1;
  std::FILE* lines_ = nullptr;
};

}  // namespace lockstep

#endif  // LOCKSTEP_TRANSPORTS_TESTING_CHILD_PROCESS_H_
