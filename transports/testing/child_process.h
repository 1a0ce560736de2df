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

#include <functional>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace lockstep {

class ChildProcess {
 public:
  // Sends one line to the test.
  using Tell = std::function<void(absl::string_view line)>;

  // The child ends when `body` returns, or with the thread that makes it.
  explicit ChildProcess(const std::function<void(const Tell&)>& body);
  // Kills it if it still runs.
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  // The next line that it tells, without its end; "" once it has ended, and words that say so if it tells nothing in time.
  std::string NextLine();
  // Waits until it has ended, and says how: "" for well, "an expectation failed in it" (if none had in the test before: those it
  // inherits), "exited with 3", "killed by Aborted". Call it once; NextLine still gives what it told.
  std::string WaitForEnd();
  // Does nothing once it has been waited for.
  void Signal(int signal) const;
  pid_t pid() const { return pid_; }

 private:
  // Longer than any one wait of a child of ours.
  static constexpr absl::Duration kPatience = absl::Minutes(2);

  bool IsToBeWaitedFor() const { return pid_ > 0 && !ended_; }
  // Whether more came, or the end, before the deadline.
  bool ReadMore(absl::Time deadline);

  pid_t pid_ = -1;
  bool ended_ = false;  // and waited for
  int lines_ = -1;      // the pipe's end
  bool at_end_ = false;
  std::string unread_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_TRANSPORTS_TESTING_CHILD_PROCESS_H_
