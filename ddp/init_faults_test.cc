// Jobs of real processes whose ranks die or stand still: what the others are told, rank 0, which hosts the store, included.
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/types/span.h"
#include "ddp/init.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "transports/net/socket.h"

namespace lockstep {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

using Tell = std::function<void(absl::string_view)>;

// Ranks of one job, each a process that joined it.
class Job {
 public:
  Job(int size, const std::function<void(ProcessGroup&, const Tell&)>& body) {
    const int port = LocalPort(ListenOn({"127.0.0.1", 0}).value().get()).value();
    for (int rank = 0; rank < size; ++rank) {
      int ends[2];
      EXPECT_EQ(pipe(ends), 0);
      const pid_t pid = fork();
      if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        const Tell tell = [&](absl::string_view text) {
          const std::string line = absl::StrCat(absl::StrReplaceAll(text, {{"\n", " "}}), "\n");
          if (write(ends[1], line.data(), line.size()) < 0) _exit(1);
        };
        ProcessGroupOptions options;
        options.init_method = absl::StrCat("tcp://127.0.0.1:", port, "?rank=", rank, "&world_size=", size);
        options.timeout = absl::Minutes(1);
        const auto group = InitProcessGroup(options);
        tell(group.ok() ? "joined" : group.status().ToString());
        if (group.ok()) body(**group, tell);
        _exit(0);
      }
      close(ends[1]);
      pids_.push_back(pid);
      lines_.push_back(fdopen(ends[0], "r"));
    }
    for (int rank = 0; rank < size; ++rank) EXPECT_EQ(NextLine(rank), "joined");
  }
  ~Job() {
    for (size_t rank = 0; rank < pids_.size(); ++rank) {
      kill(pids_[rank], SIGKILL);
      waitpid(pids_[rank], nullptr, 0);
      std::fclose(lines_[rank]);
    }
  }
  std::string NextLine(int rank) {
    char* text = nullptr;
    size_t capacity = 0;
    const ssize_t length = getline(&text, &capacity, lines_[rank]);
    std::string line(text, length > 0 ? static_cast<size_t>(length - 1) : 0);
    free(text);
    return line;
  }
  void Signal(int rank, int signal) { kill(pids_[rank], signal); }
  pid_t pid(int rank) const { return pids_[rank]; }

 private:
  std::vector<pid_t> pids_;
  std::vector<FILE*> lines_;
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
