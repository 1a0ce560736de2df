// What the command line asks for.
//
//   ddprun --nproc_per_node=4 ./trainer --epochs=3
//
// Flags come before the program; everything from the program on belongs to it, also what looks like a flag of ours. A flag is
// written --name=value or --name value, with _ or - between words; given twice, the last counts, so that a script's default
// can be overridden by appending.
#ifndef LOCKSTEP_TOOLS_DDPRUN_LAUNCH_OPTIONS_H_
#define LOCKSTEP_TOOLS_DDPRUN_LAUNCH_OPTIONS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"

namespace lockstep::ddprun {

struct LaunchOptions {
  int nproc_per_node = 1;
  int nnodes = 1;
  // Which of the nodes this is. Must be given when there are several: two nodes that both believe to be 0 would hang.
  absl::optional<int> node_rank;
  // Where rank 0 listens; must be given when there are several nodes. Otherwise this host, at a port that ddprun binds.
  std::string master_addr;
  absl::optional<int> master_port;
  // Between asking a process to end (SIGTERM, or the signal that was forwarded) and SIGKILL.
  absl::Duration grace_period = absl::Seconds(30);
  bool help = false;
  // The program and its arguments; not empty unless `help`.
  std::vector<std::string> command;
};

// `arguments` is argv without argv[0]. INVALID_ARGUMENT: one line that names the flag, its value and what is allowed.
absl::StatusOr<LaunchOptions> ParseLaunchOptions(absl::Span<const std::string> arguments);

// The text of --help.
std::string LaunchHelp();

}  // namespace lockstep::ddprun

#endif  // LOCKSTEP_TOOLS_DDPRUN_LAUNCH_OPTIONS_H_
