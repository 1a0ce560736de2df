// Jobs of real processes whose ranks die or stand still: what the others are told, rank 0, which hosts the store, included.
#include <signal.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "ddp/init.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "transports/net/port_holder.h"
#include "transports/testing/child_process.h"

namespace lockstep {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

using Tell = ChildProcess::Tell;

// Ranks of one job, each a process that joined it.
class Job {
 public:
  Job(int size, const std::function<void(ProcessGroup&, const Tell&)>& body) {
    const PortHolder holder = PortHolder::BindFreePort().value();
    for (int rank = 0; rank < size; ++rank) {
      ranks_.push_back(std::make_unique<ChildProcess>([&](const Tell& tell) {
        ProcessGroupOptions options;
        options.init_method = absl::StrCat("tcp://127.0.0.1:", holder.port(), "?rank=", rank, "&world_size=", size);
        options.timeout = absl::Minutes(1);
        const auto group = InitProcessGroup(options);
        tell(group.ok() ? "joined" : group.status().ToString());
        if (group.ok()) body(**group, tell);
      }));
    }
    for (int rank = 0; rank < size; ++rank) EXPECT_EQ(NextLine(rank), "joined");
  }
  std::string NextLine(int rank) { return ranks_[rank]->NextLine(); }
  void Signal(int rank, int signal) { ranks_[rank]->Signal(signal); }
  pid_t pid(int rank) const { return ranks_[rank]->pid(); }

 private:
  std::vector<std::unique_ptr<ChildProcess>> ranks_;
};

void ReduceUntilFailure(ProcessGroup& group, absl::Duration timeout, const Tell& tell) {
  std::vector<float> data(50'000, 1);
  CallOptions options;
  options.name = "grads";
  options.timeout = timeout;
  absl::Status status = group.Barrier("start");
  tell("ready");
  while (status.ok()) status = group.AllReduce(MakeBuffer(absl::MakeSpan(data)), ReduceOp::kAvg, options);
  tell(status.ToString());
}

TEST(InitFaults, TheDeathOfRankZeroWhichHostsTheStoreIsToldToAll) {
  Job job(4, [](ProcessGroup& group, const Tell& tell) { ReduceUntilFailure(group, absl::Minutes(1), tell); });
  for (int rank = 0; rank < 4; ++rank) ASSERT_EQ(job.NextLine(rank), "ready");
  job.Signal(0, SIGKILL);
  for (const int rank : {1, 2, 3}) {
    EXPECT_THAT(job.NextLine(rank), AllOf(StartsWith("UNAVAILABLE: rank "), HasSubstr("rank 0 (host "),
                                          HasSubstr(absl::StrCat("pid ", job.pid(0))), HasSubstr("\"grads\"")));
  }
}

TEST(InitFaults, RankZeroThatStandsStillCostsTheDeadlineAndAFewSecondsMore) {
  Job job(3, [](ProcessGroup& group, const Tell& tell) { ReduceUntilFailure(group, absl::Milliseconds(300), tell); });
  for (int rank = 0; rank < 3; ++rank) ASSERT_EQ(job.NextLine(rank), "ready");
  job.Signal(0, SIGSTOP);
  for (const int rank : {1, 2}) {
    EXPECT_THAT(job.NextLine(rank), AllOf(AnyOf(StartsWith("DEADLINE_EXCEEDED"), StartsWith("UNAVAILABLE")),
                                          HasSubstr("\"grads\""), HasSubstr("did not answer")));
  }
}

TEST(InitFaults, DestroyOfARankWhosePeerHasDiedNamesIt) {
  Job job(2, [](ProcessGroup& group, const Tell& tell) {
    if (group.rank() == 1) raise(SIGKILL);
    tell(group.Destroy().ToString());
  });
  EXPECT_THAT(job.NextLine(0), AllOf(StartsWith("UNAVAILABLE"), HasSubstr("\"destroy\""), HasSubstr("lost rank 1")));
}

}  // namespace
}  // namespace lockstep
