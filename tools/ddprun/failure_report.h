// What is said when a rank failed: which one was first, how, where, and what it wrote last.
#ifndef LOCKSTEP_TOOLS_DDPRUN_FAILURE_REPORT_H_
#define LOCKSTEP_TOOLS_DDPRUN_FAILURE_REPORT_H_

#include <sys/types.h>

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "tools/ddprun/rank_process.h"

namespace lockstep::ddprun {

struct RankResult {
  int rank = 0;  // global
  pid_t pid = 0;
  Ending ending;
  absl::Duration lived;
  std::vector<std::string> last_lines;
};

// "rank 3", "ranks 0, 2", "1024 ranks (0, 1, 2, 3, 4, 5, 6, 7, ...)"; not empty.
std::string RankList(const std::vector<int>& ranks);

// What a shell would report: its exit code, 128 + the number of the signal that killed it, 126 if it could not be executed.
int ExitCode(const Ending& ending);

// "exit code 3", "killed by SIGSEGV (core dumped)", "could not be executed: Exec format error"
std::string DescribeEnding(const Ending& ending);

// Several lines without a final newline. `others` are the ranks of this node but `first`.
std::string FailureReport(const RankResult& first, absl::Span<const RankResult> others, int world_size,
                          absl::string_view host);

}  // namespace lockstep::ddprun

#endif  // LOCKSTEP_TOOLS_DDPRUN_FAILURE_REPORT_H_
