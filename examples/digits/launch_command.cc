#include "examples/digits/launch_command.h"

#include <cstddef>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace digits {
namespace {

constexpr absl::string_view kRanksFlag = "--nproc_per_node";

bool AsksForHelp(const std::string& argument) {
  return argument == "--help" || argument == "-help" || argument == "--helpfull";
}

}  // namespace

absl::StatusOr<std::vector<std::string>> LaunchCommand(const std::string& ddprun, const std::string& trainer,
                                                       absl::Span<const std::string> arguments) {
  std::string ranks = "2";
  std::vector<std::string> passed_on;
  for (size_t i = 0; i < arguments.size(); ++i) {
    absl::string_view value = arguments[i];
    if (AsksForHelp(arguments[i])) return std::vector<std::string>{trainer, arguments[i]};
    if (arguments[i] == kRanksFlag) {
      if (++i == arguments.size())
        return absl::InvalidArgumentError(absl::StrCat(kRanksFlag, " needs a number, as in ", kRanksFlag, "=4"));
      ranks = arguments[i];
    } else if (absl::ConsumePrefix(&value, absl::StrCat(kRanksFlag, "="))) {
      ranks = std::string(value);
    } else {
      passed_on.push_back(arguments[i]);
    }
  }
  std::vector<std::string> command = {ddprun, absl::StrCat(kRanksFlag, "=", ranks), trainer};
  command.insert(command.end(), passed_on.begin(), passed_on.end());
  return command;
}

}  // namespace digits
