// A rank's place in the job, as the environment variables that torchrun sets too: a program finds the same under either.
#ifndef LOCKSTEP_TOOLS_DDPRUN_RANK_ENVIRONMENT_H_
#define LOCKSTEP_TOOLS_DDPRUN_RANK_ENVIRONMENT_H_

#include <string>
#include <vector>

#include "absl/types/span.h"

namespace lockstep::ddprun {

// What all ranks of a node have in common.
struct NodePlace {
  int node_rank = 0;
  int nnodes = 1;
  int nproc_per_node = 1;
  std::string master_addr;
  int master_port = 0;
  // Whether what the ranks write to stderr is seen on a terminal: LOCKSTEP_TTY=1, and a progress line there is worth redrawing.
  bool on_terminal = false;
};

// The rank among all nodes of the one that is `local_rank` here.
int GlobalRank(const NodePlace& place, int local_rank);

// Whether OMP_NUM_THREADS=1 is added: several ranks here, and the user did not say. Each would otherwise use all cores.
bool LimitsOpenMpThreads(const NodePlace& place, absl::Span<const std::string> inherited);

// `inherited` (entries "NAME=value", as in environ), with the rank's variables set or replaced; the rest is left as it is.
std::vector<std::string> RankEnvironment(const NodePlace& place, int local_rank, absl::Span<const std::string> inherited);

// `arguments` with each ${local_rank} replaced, as torchrun does.
std::vector<std::string> RankArguments(absl::Span<const std::string> arguments, int local_rank);

}  // namespace lockstep::ddprun

#endif  // LOCKSTEP_TOOLS_DDPRUN_RANK_ENVIRONMENT_H_
