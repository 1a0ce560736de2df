#include "tools/ddprun/launch_options.h"

#include <algorithm>

#include "absl/status/status_macros.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"

namespace lockstep::ddprun {
namespace {

constexpr int kMaxRanksOfANode = 1024;  // four descriptors a rank: more would not fit into common limits of open files
constexpr int kMaxNodes = 65536;
constexpr absl::Duration kMaxGracePeriod = absl::Hours(24);

absl::StatusOr<int> ParseNumber(absl::string_view flag, absl::string_view value, int lowest, int highest) {
  int number = 0;
  if (absl::SimpleAtoi(value, &number) && number >= lowest && number <= highest) return number;
  return absl::InvalidArgumentError(
      absl::StrCat("--", flag, "=", value, ": must be a whole number from ", lowest, " to ", highest));
}

absl::Status SetRanks(LaunchOptions& options, absl::string_view value) {
  ABSL_ASSIGN_OR_RETURN(options.nproc_per_node, ParseNumber("nproc_per_node", value, 1, kMaxRanksOfANode));
  return absl::OkStatus();
}

absl::Status SetNodes(LaunchOptions& options, absl::string_view value) {
  ABSL_ASSIGN_OR_RETURN(options.nnodes, ParseNumber("nnodes", value, 1, kMaxNodes));
  return absl::OkStatus();
}

absl::Status SetNodeRank(LaunchOptions& options, absl::string_view value) {
  ABSL_ASSIGN_OR_RETURN(options.node_rank, ParseNumber("node_rank", value, 0, kMaxNodes - 1));
  return absl::OkStatus();
}

absl::Status SetMasterAddress(LaunchOptions& options, absl::string_view value) {
  const bool blank = value.find_first_of(" \t\r\n/") != value.npos;
  const bool with_port = std::count(value.begin(), value.end(), ':') == 1 || absl::StartsWith(value, "[");
  if (blank || with_port) {
    return absl::InvalidArgumentError(absl::StrCat("--master_addr=", value,
                                                   ": must be a host name or an address alone, as node0 or 10.0.0.1 or ::1; "
                                                   "the port is given by --master_port"));
  }
  options.master_addr = std::string(value);
  return absl::OkStatus();
}

absl::Status SetMasterPort(LaunchOptions& options, absl::string_view value) {
  ABSL_ASSIGN_OR_RETURN(options.master_port, ParseNumber("master_port", value, 1, 65535));
  return absl::OkStatus();
}

absl::Status SetGracePeriod(LaunchOptions& options, absl::string_view value) {
  double seconds = 0;
  absl::Duration period = absl::InfiniteDuration();
  if (absl::SimpleAtod(value, &seconds)) {
    period = seconds >= 0 ? absl::Seconds(seconds) : -absl::Seconds(1);  // NaN is not >= 0
  } else if (!absl::ParseDuration(value, &period)) {
    period = absl::InfiniteDuration();
  }
  if (period < absl::ZeroDuration() || period > kMaxGracePeriod) {
    return absl::InvalidArgumentError(
        absl::StrCat("--grace_period=", value, ": must be seconds or a duration, as 30 or 500ms or 2m, from 0 to 24h"));
  }
  options.grace_period = period;
  return absl::OkStatus();
}

struct Flag {
  absl::string_view name;
  absl::string_view placeholder;
  absl::string_view help;
  absl::Status (*set)(LaunchOptions& options, absl::string_view value);
};

constexpr Flag kFlags[] = {
    {"nproc_per_node", "N", "ranks to start here (default 1)", SetRanks},
    {"nnodes", "N", "hosts that take part, each with a ddprun of its own (default 1)", SetNodes},
    {"node_rank", "I", "which of them this is, from 0; needed when --nnodes > 1", SetNodeRank},
    {"master_addr", "HOST", "where rank 0 runs; needed when --nnodes > 1 (default 127.0.0.1)", SetMasterAddress},
    {"master_port", "PORT", "where rank 0 listens; needed when --nnodes > 1 (default: a free port)", SetMasterPort},
    {"grace_period", "TIME", "from asking ranks to end until SIGKILL, as 30 or 500ms (default 30)", SetGracePeriod},
};

const Flag* FindFlag(absl::string_view name) {
  const auto found = std::find_if(std::begin(kFlags), std::end(kFlags), [&](const Flag& flag) { return flag.name == name; });
  return found == std::end(kFlags) ? nullptr : found;
}

absl::Status UnknownFlag(absl::string_view argument) {
  return absl::InvalidArgumentError(absl::StrCat(
      "unknown flag ", argument, "; known: ",
      absl::StrJoin(kFlags, " ", [](std::string* out, const Flag& flag) { absl::StrAppend(out, "--", flag.name); }),
      " --help. The program's own flags go after the program."));
}

// Sets one flag and returns how many arguments it took.
absl::StatusOr<int> TakeFlag(absl::Span<const std::string> arguments, LaunchOptions& options) {
  const absl::string_view argument = arguments[0];
  if (!absl::StartsWith(argument, "--")) return UnknownFlag(argument);
  const size_t equals = argument.find('=');
  const std::string name = absl::StrReplaceAll(argument.substr(0, equals).substr(2), {{"-", "_"}});
  if (name == "help" && equals == argument.npos) {
    options.help = true;
    return 1;
  }
  const Flag* flag = FindFlag(name);
  if (flag == nullptr) return UnknownFlag(argument);
  const bool separate = equals == argument.npos;
  const bool absent = separate && (arguments.size() == 1 || absl::StartsWith(arguments[1], "--"));
  const absl::string_view value = absent ? "" : separate ? absl::string_view(arguments[1]) : argument.substr(equals + 1);
  if (value.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--", flag->name, " needs a value: --", flag->name, "=", flag->placeholder));
  }
  ABSL_RETURN_IF_ERROR(flag->set(options, value));
  return separate ? 2 : 1;
}

absl::Status CheckTogether(const LaunchOptions& options) {
  const int node_rank = options.node_rank.value_or(0);
  if (node_rank >= options.nnodes) {
    return absl::InvalidArgumentError(absl::StrCat("--node_rank=", node_rank, " contradicts --nnodes=", options.nnodes,
                                                   ": must be from 0 to ", options.nnodes - 1));
  }
  if (options.nnodes == 1) return absl::OkStatus();
  std::vector<absl::string_view> missing;
  if (!options.node_rank.has_value()) missing.push_back("--node_rank");
  if (options.master_addr.empty()) missing.push_back("--master_addr");
  if (!options.master_port.has_value()) missing.push_back("--master_port");
  if (missing.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("--nnodes=", options.nnodes, " also needs ", absl::StrJoin(missing, ", "),
                                                 ": every node must name itself and the same place of rank 0"));
}

}  // namespace

absl::StatusOr<LaunchOptions> ParseLaunchOptions(absl::Span<const std::string> arguments) {
  LaunchOptions options;
  while (!arguments.empty() && absl::StartsWith(arguments[0], "-") && arguments[0] != "--") {
    ABSL_ASSIGN_OR_RETURN(const int taken, TakeFlag(arguments, options));
    if (options.help) return options;
    arguments.remove_prefix(taken);
  }
  if (!arguments.empty() && arguments[0] == "--") arguments.remove_prefix(1);
  if (arguments.empty() || arguments[0].empty()) {
    return absl::InvalidArgumentError(
        "no program to start: ddprun [flags] program [arguments]; ddprun --help lists the flags");
  }
  options.command.assign(arguments.begin(), arguments.end());
  ABSL_RETURN_IF_ERROR(CheckTogether(options));
  return options;
}

std::string LaunchHelp() {
  std::string text =
      "Starts the ranks of a job: one process a rank, each with its place in the environment (RANK, WORLD_SIZE, ...).\n"
      "\n"
      "  ddprun [flags] program [arguments of the program]\n"
      "\n";
  for (const Flag& flag : kFlags) {
    absl::StrAppendFormat(&text, "  %-22s %s\n", absl::StrCat("--", flag.name, "=", flag.placeholder), flag.help);
  }
  absl::StrAppend(&text,
                  "\n"
                  "When a rank fails, the others are ended, and ddprun exits as that rank did (128 + number of a signal).\n"
                  "SIGINT, SIGTERM, SIGHUP and SIGQUIT are forwarded to all ranks. docs/ddprun.md tells more.\n");
  return text;
}

}  // namespace lockstep::ddprun
