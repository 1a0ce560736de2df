// One rank's process, from fork until it is reaped.
//
// It leads a session of its own: a signal for it reaches what it started too, and the terminal's Ctrl-C reaches it only by
// being forwarded. If the process that started it dies, the kernel kills it.
#ifndef LOCKSTEP_TOOLS_DDPRUN_RANK_PROCESS_H_
#define LOCKSTEP_TOOLS_DDPRUN_RANK_PROCESS_H_

#include <sys/types.h>

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "tools/ddprun/launch_signals.h"
#include "transports/net/file_descriptor.h"

namespace lockstep::ddprun {

struct RankCommand {
  std::string program;                   // a path
  std::vector<std::string> arguments;    // with argv[0]
  std::vector<std::string> environment;  // "NAME=value"
  bool inherits_stdin = false;           // else it reads /dev/null: one reader at most, or input would be torn apart
};

// How a process ended: a value of waitpid, and the errno of an exec that failed (0: it ran).
struct Ending {
  int wait_status = 0;
  int exec_error = 0;
  absl::Duration at;  // MonotonicNow()
};

class RankProcess {
 public:
  // The child has not necessarily reached exec when this returns; that exec failed is told by its ending. To be called by a
  // process with one thread: the kernel ties the rank's life to the thread that starts it.
  static absl::StatusOr<RankProcess> Start(const RankCommand& command, const LaunchSignals& signals);

  pid_t pid() const { return pid_; }
  // Becomes readable when the process has ended; -1 before Linux 5.3.
  int death_fd() const { return death_.get(); }
  // Read ends of what it writes; whoever reads to the end closes them.
  FileDescriptor& standard_output() { return output_; }
  FileDescriptor& standard_error() { return error_; }

  // Unset while it runs.
  const absl::optional<Ending>& ending() const { return ending_; }
  // If it has ended: reaps it and sets ending().
  void Reap();

  // To it and all of its process group. Nothing once it is reaped, when its number may be somebody else's.
  void Signal(int signal_number) const;

 private:
  RankProcess() = default;

  pid_t pid_ = -1;
  FileDescriptor death_, output_, error_, exec_error_;
  absl::optional<Ending> ending_;
};

}  // namespace lockstep::ddprun

#endif  // LOCKSTEP_TOOLS_DDPRUN_RANK_PROCESS_H_
