// What the command `digits` stands for: the trainer under ddprun.
#ifndef LOCKSTEP_EXAMPLES_DIGITS_LAUNCH_COMMAND_H_
#define LOCKSTEP_EXAMPLES_DIGITS_LAUNCH_COMMAND_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace digits {

// `arguments`, without argv[0], as a command line: --nproc_per_node (2 unless given; --name=value or --name value; the last
// counts) goes to ddprun, everything else to the trainer. With --help the trainer alone, once. The number is checked by ddprun.
// INVALID_ARGUMENT: --nproc_per_node without a value.
absl::StatusOr<std::vector<std::string>> LaunchCommand(const std::string& ddprun, const std::string& trainer,
                                                       absl::Span<const std::string> arguments);

}  // namespace digits

#endif  // LOCKSTEP_EXAMPLES_DIGITS_LAUNCH_COMMAND_H_
