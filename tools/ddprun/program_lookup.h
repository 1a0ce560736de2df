// Finds the program before anything is started, so that a typing error is one line and not one a rank.
#ifndef LOCKSTEP_TOOLS_DDPRUN_PROGRAM_LOOKUP_H_
#define LOCKSTEP_TOOLS_DDPRUN_PROGRAM_LOOKUP_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace lockstep::ddprun {

// Where `program` lies: itself if it has a slash, else in the first folder of `search_path` (a value of PATH) that has it.
//   NOT_FOUND          there is none
//   PERMISSION_DENIED  there is one, but it is a folder or may not be executed
absl::StatusOr<std::string> FindProgram(const std::string& program, absl::string_view search_path);

}  // namespace lockstep::ddprun

#endif  // LOCKSTEP_TOOLS_DDPRUN_PROGRAM_LOOKUP_H_
