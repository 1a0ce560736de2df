#include "tools/ddprun/rank_environment.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"

namespace lockstep::ddprun {
namespace {

using Variables = std::map<std::string, std::string>;

absl::string_view NameOf(absl::string_view entry) { return entry.substr(0, entry.find('=')); }

bool IsSet(absl::string_view name, absl::Span<const std::string> environment) {
  return std::any_of(environment.begin(), environment.end(), [&](absl::string_view entry) { return NameOf(entry) == name; });
}

Variables PlaceVariables(const NodePlace& place, int local_rank) {
  const std::string rank = absl::StrCat(GlobalRank(place, local_rank));
  const std::string world_size = absl::StrCat(place.nnodes * place.nproc_per_node);
  return {
      {"RANK", rank},
      {"LOCAL_RANK", absl::StrCat(local_rank)},
      {"WORLD_SIZE", world_size},
      {"LOCAL_WORLD_SIZE", absl::StrCat(place.nproc_per_node)},
      {"GROUP_RANK", absl::StrCat(place.node_rank)},
      {"GROUP_WORLD_SIZE", absl::StrCat(place.nnodes)},
      {"ROLE_NAME", "default"},
      {"ROLE_RANK", rank},
      {"ROLE_WORLD_SIZE", world_size},
      {"MASTER_ADDR", place.master_addr},
      {"MASTER_PORT", absl::StrCat(place.master_port)},
      {"TORCHELASTIC_RESTART_COUNT", "0"},
      {"TORCHELASTIC_MAX_RESTARTS", "0"},
      {"TORCHELASTIC_RUN_ID", "none"},
      {"TORCHELASTIC_SIGNALS_TO_HANDLE", "SIGTERM,SIGINT,SIGHUP,SIGQUIT"},
      // Under torchrun its agent may host the store; here rank 0 does, and "True" left over from outside would make it wait.
      {"TORCHELASTIC_USE_AGENT_STORE", "False"},
  };
}

// Variables that speak of an outer launcher's output and of its own report: wrong for ranks of ours.
bool IsOfAnotherLauncher(absl::string_view name) { return name == "LOCKSTEP_TTY" || name == "TORCHELASTIC_ERROR_FILE"; }

}  // namespace

int GlobalRank(const NodePlace& place, int local_rank) { return place.node_rank * place.nproc_per_node + local_rank; }

bool LimitsOpenMpThreads(const NodePlace& place, absl::Span<const std::string> inherited) {
  return place.nproc_per_node > 1 && !IsSet("OMP_NUM_THREADS", inherited);
}

std::vector<std::string> RankEnvironment(const NodePlace& place, int local_rank, absl::Span<const std::string> inherited) {
  Variables ours = PlaceVariables(place, local_rank);
  if (LimitsOpenMpThreads(place, inherited)) ours["OMP_NUM_THREADS"] = "1";
  if (!IsSet("TORCH_NCCL_ASYNC_ERROR_HANDLING", inherited)) ours["TORCH_NCCL_ASYNC_ERROR_HANDLING"] = "1";
  if (place.on_terminal) ours["LOCKSTEP_TTY"] = "1";

  std::vector<std::string> environment;
  for (const std::string& entry : inherited) {
    const std::string name(NameOf(entry));
    if (ours.count(name) == 0 && !IsOfAnotherLauncher(name)) environment.push_back(entry);
  }
  for (const auto& [name, value] : ours) environment.push_back(absl::StrCat(name, "=", value));
  return environment;
}

std::vector<std::string> RankArguments(absl::Span<const std::string> arguments, int local_rank) {
  std::vector<std::string> replaced;
  replaced.reserve(arguments.size());
  for (const std::string& argument : arguments) {
    replaced.push_back(absl::StrReplaceAll(argument, {{"${local_rank}", absl::StrCat(local_rank)}}));
  }
  return replaced;
}

}  // namespace lockstep::ddprun
