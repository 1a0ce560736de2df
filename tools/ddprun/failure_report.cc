#include "tools/ddprun/failure_report.h"

#include <string.h>
#include <sys/wait.h>

#include <cerrno>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "tools/ddprun/launch_signals.h"

namespace lockstep::ddprun {
namespace {

constexpr size_t kListedRanks = 8;  // of a thousand that ended alike, the first few and their number tell as much

std::string OthersLine(absl::Span<const RankResult> others) {
  std::map<std::string, std::vector<int>> by_ending;
  for (const RankResult& other : others) by_ending[DescribeEnding(other.ending)].push_back(other.rank);
  return absl::StrJoin(by_ending, "; ", [](std::string* out, const auto& entry) {
    absl::StrAppend(out, RankList(entry.second), ": ", entry.first);
  });
}

}  // namespace

std::string RankList(const std::vector<int>& ranks) {
  if (ranks.size() == 1) return absl::StrCat("rank ", ranks[0]);
  if (ranks.size() <= kListedRanks) return absl::StrCat("ranks ", absl::StrJoin(ranks, ", "));
  return absl::StrCat(ranks.size(), " ranks (", absl::StrJoin(absl::MakeSpan(ranks).first(kListedRanks), ", "), ", ...)");
}

int ExitCode(const Ending& ending) {
  if (ending.exec_error != 0) return 126;
  if (WIFSIGNALED(ending.wait_status)) return 128 + WTERMSIG(ending.wait_status);
  return WEXITSTATUS(ending.wait_status);
}

std::string DescribeEnding(const Ending& ending) {
  if (ending.exec_error != 0) {
    return absl::StrCat("could not be executed: ", strerror(ending.exec_error),
                        ending.exec_error == ENOENT ? " (the interpreter that its first line names?)" : "");
  }
  if (!WIFSIGNALED(ending.wait_status)) return absl::StrCat("exit code ", WEXITSTATUS(ending.wait_status));
  return absl::StrCat("killed by ", SignalName(WTERMSIG(ending.wait_status)),
                      WCOREDUMP(ending.wait_status) ? " (core dumped)" : "");
}

std::string FailureReport(const RankResult& first, absl::Span<const RankResult> others, int world_size,
                          absl::string_view host) {
  std::string report =
      absl::StrFormat("ddprun: rank %d of %d failed first: %s (host %s, pid %d, after %.2f s)", first.rank, world_size,
                      DescribeEnding(first.ending), host, first.pid, absl::ToDoubleSeconds(first.lived));
  if (!first.last_lines.empty()) absl::StrAppend(&report, "\nddprun: what it wrote last:");
  for (const std::string& line : first.last_lines) absl::StrAppend(&report, "\nddprun:   ", line);
  if (!others.empty()) absl::StrAppend(&report, "\nddprun: the others here: ", OthersLine(others));
  return report;
}

}  // namespace lockstep::ddprun
