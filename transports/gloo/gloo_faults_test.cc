// Ranks that are killed, stopped or short of files: what their peers are told, and what is left behind.
#include <signal.h>
#include <sys/resource.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status_matchers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "transports/gloo/gloo_transport.h"
#include "transports/store/in_process_store.h"
#include "transports/testing/open_files.h"
#include "transports/testing/rank_processes.h"
#include "transports/testing/rank_threads.h"

namespace lockstep {
namespace {

using ::absl_testing::StatusIs;
using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// Tells "ready" once connected with all, then all-reduces until it fails, and tells the error.
void ReduceUntilFailure(Communicator& comm, absl::Duration timeout, const RankProcesses::Tell& tell) {
  std::vector<float> data(50'000, 1);
  const Buffer buffer = MakeBuffer(absl::MakeSpan(data));
  absl::Status status = comm.Barrier({.name = "start"}).Wait();
  tell("ready");
  while (status.ok()) status = comm.AllReduce(buffer, buffer, ReduceOp::kAvg, {.name = "grads", .timeout = timeout}).Wait();
  tell(status.ToString());
  tell(comm.Barrier().Wait().ToString());
}

TEST(GlooFaults, EverySurvivorOfAKilledRankNamesItWithHostAndPid) {
  RankProcesses ranks("gloo", 4, kTestDeadline,
                      [](std::unique_ptr<Communicator> comm, Store&, const RankProcesses::Tell& tell) {
                        ReduceUntilFailure(*comm, kTestDeadline, tell);
                      });
  for (int rank = 0; rank < 4; ++rank) ASSERT_EQ(ranks.NextLine(rank), "ready");
  ranks.Signal(2, SIGKILL);
  for (const int rank : {0, 1, 3}) {
    const std::string line = ranks.NextLine(rank);
    EXPECT_THAT(line, AllOf(StartsWith(absl::StrCat("UNAVAILABLE: rank ", rank, " (")), HasSubstr("\"grads\""),
                            HasSubstr("lost rank 2 (host "), HasSubstr(absl::StrCat("pid ", ranks.pid(2)))));
    EXPECT_EQ(ranks.NextLine(rank), line) << "a later operation ends with the same status";
  }
}

TEST(GlooFaults, AStoppedRankCostsTheDeadlineAndIsNamed) {
  RankProcesses ranks("gloo", 3, kTestDeadline,
                      [](std::unique_ptr<Communicator> comm, Store&, const RankProcesses::Tell& tell) {
                        ReduceUntilFailure(*comm, absl::Milliseconds(500), tell);
                      });
  for (int rank = 0; rank < 3; ++rank) ASSERT_EQ(ranks.NextLine(rank), "ready");
  ranks.Signal(1, SIGSTOP);
  for (const int rank : {0, 2}) {
    EXPECT_THAT(ranks.NextLine(rank), AllOf(StartsWith("DEADLINE_EXCEEDED: "), HasSubstr("rank 1 (host "),
                                            HasSubstr(absl::StrCat("pid ", ranks.pid(1))), HasSubstr("did not come")));
  }
  ranks.Signal(1, SIGCONT);
  EXPECT_THAT(ranks.NextLine(1), AnyOf(StartsWith("UNAVAILABLE"), StartsWith("DEADLINE_EXCEEDED")));
}

// Longer than a host may stay silent: the kernel of a stopped process still answers, with its buffers full too.
TEST(GlooFaults, AStoppedRankThatGoesOnBeforeTheDeadlineDisturbsNothing) {
  constexpr absl::Duration kLong = absl::Seconds(7);
  RankProcesses ranks("gloo", 2, kTestDeadline,
                      [&](std::unique_ptr<Communicator> comm, Store&, const RankProcesses::Tell& tell) {
                        std::vector<float> data(4 << 20, 1);
                        const Buffer buffer = MakeBuffer(absl::MakeSpan(data));
                        ABSL_EXPECT_OK(comm->Barrier().Wait());
                        tell("ready");
                        bool was_long = false;
                        while (!was_long) {
                          const absl::Time start = absl::Now();
                          const Work work = comm->AllReduce(buffer, buffer, ReduceOp::kAvg);
                          while (comm->rank() == 0 && !work.Done() && absl::Now() < start + kLong) std::this_thread::yield();
                          was_long = absl::Now() >= start + kLong;
                          if (was_long) tell("long");
                          ABSL_EXPECT_OK(work.Wait());
                          std::vector<int32_t> stop = {was_long ? 1 : 0};
                          const Buffer one = MakeBuffer(absl::MakeSpan(stop));
                          ABSL_EXPECT_OK(comm->AllReduce(one, one, ReduceOp::kMax).Wait());
                          was_long = stop[0] != 0;
                        }
                        EXPECT_THAT(data, testing::Each(1.0F));
                      });
  for (int rank = 0; rank < 2; ++rank) ASSERT_EQ(ranks.NextLine(rank), "ready");
  ranks.Signal(1, SIGSTOP);
  EXPECT_EQ(ranks.NextLine(0), "long");
  ranks.Signal(1, SIGCONT);
  for (int rank = 0; rank < 2; ++rank) EXPECT_EQ(ranks.WaitForEnd(rank), "");
}

TEST(GlooFaults, ARankThatDiedWhileNobodyCommunicatedIsFoundByTheNextOperation) {
  RankProcesses ranks("gloo", 2, kTestDeadline,
                      [](std::unique_ptr<Communicator> comm, Store&, const RankProcesses::Tell& tell) {
                        const absl::Status start = comm->Barrier().Wait();
                        tell("ready");
                        if (comm->rank() == 1) raise(SIGKILL);
                        tell(comm->Barrier({.name = "next"}).Wait().ToString());
                      });
  EXPECT_EQ(ranks.NextLine(1), "ready");
  EXPECT_EQ(ranks.NextLine(1), "");
  EXPECT_EQ(ranks.NextLine(0), "ready");
  EXPECT_THAT(ranks.NextLine(0), AllOf(StartsWith("UNAVAILABLE"), HasSubstr("\"next\""), HasSubstr("lost rank 1")));
}

TEST(GlooFaults, WithoutTheStoreADeathIsStillNoticedAtOnce) {
  RankProcesses ranks("gloo", 2, kTestDeadline,
                      [](std::unique_ptr<Communicator> comm, Store&, const RankProcesses::Tell& tell) {
                        ReduceUntilFailure(*comm, kTestDeadline, tell);
                      });
  for (int rank = 0; rank < 2; ++rank) ASSERT_EQ(ranks.NextLine(rank), "ready");
  ranks.SignalStore(SIGKILL);
  ranks.Signal(0, SIGKILL);
  EXPECT_THAT(ranks.NextLine(1), AllOf(StartsWith("UNAVAILABLE"), HasSubstr("lost rank 0")));
}

TEST(GlooFaults, WithAStoreThatStandsStillAnOperationStillEndsAndSaysSo) {
  RankProcesses ranks("gloo", 2, kTestDeadline,
                      [](std::unique_ptr<Communicator> comm, Store&, const RankProcesses::Tell& tell) {
                        ReduceUntilFailure(*comm, absl::Milliseconds(300), tell);
                      });
  for (int rank = 0; rank < 2; ++rank) ASSERT_EQ(ranks.NextLine(rank), "ready");
  ranks.SignalStore(SIGSTOP);
  ranks.Signal(0, SIGSTOP);
  EXPECT_THAT(ranks.NextLine(1), AllOf(StartsWith("DEADLINE_EXCEEDED"), HasSubstr("\"grads\""), HasSubstr("tcp store at"),
                                       HasSubstr("did not answer")));
}

#ifndef LOCKSTEP_SANITIZER_MALLOC  // whose shadow memory no such limit leaves room for
TEST(GlooFaults, PeersOfARankWithoutMemoryForItsArenaAreTold) {
  RankProcesses ranks("gloo", 2, kTestDeadline,
                      [](std::unique_ptr<Communicator> comm, Store&, const RankProcesses::Tell& tell) {
                        if (comm->rank() == 1) {
                          const rlimit little = {128 << 20, 128 << 20};
                          EXPECT_EQ(setrlimit(RLIMIT_DATA, &little), 0);
                        }
                        tell(comm->CreateArena(128 << 20).status().ToString());
                        tell(comm->Barrier({.name = "next"}).Wait().ToString());
                      });
  EXPECT_EQ(ranks.NextLine(0), "OK");
  EXPECT_THAT(ranks.NextLine(0), AllOf(StartsWith("UNAVAILABLE"), HasSubstr("\"next\""), HasSubstr("rank 1"),
                                       HasSubstr("no memory for an arena of 134217728 bytes")));
  EXPECT_THAT(ranks.NextLine(1), StartsWith("RESOURCE_EXHAUSTED: rank 1: create arena: no memory"));
}
#endif

TEST(GlooFaults, ARankThatIsTakenAndASizeThatDiffersAreToldApart) {
  InProcessStore store;
  GlooTransport transport;
  ConnectOptions options;
  options.host = "127.0.0.1";
  options.timeout = absl::Milliseconds(50);
  options.size = 2;
  EXPECT_THAT(transport.Connect(store, options).status(), StatusIs(absl::StatusCode::kDeadlineExceeded));
  EXPECT_THAT(transport.Connect(store, options).status(),
              StatusIs(absl::StatusCode::kAlreadyExists, AllOf(HasSubstr("rank 0"), HasSubstr("another process"))));
  options.rank = 1;
  options.size = 3;
  EXPECT_THAT(transport.Connect(store, options).status(),
              StatusIs(absl::StatusCode::kFailedPrecondition, AllOf(HasSubstr("rank 0"), HasSubstr("3"), HasSubstr("2"))));
}

TEST(GlooFaults, AnAddressOfAnotherMachineIsRefused) {
  InProcessStore store;
  GlooTransport transport;
  ConnectOptions options;
  for (const char* host : {"192.0.2.1", "no-such-host.invalid"}) {
    options.host = host;
    EXPECT_THAT(transport.Connect(store, options).status(), StatusIs(absl::StatusCode::kUnavailable, HasSubstr(host)));
  }
}

TEST(GlooFaults, NoFileIsLeftOpenWhetherACommunicatorEndedWellOrNot) {
  GlooTransport transport;
  const auto once = [&] {
    ConnectRanks(transport, 3, kTestDeadline, [](std::unique_ptr<Communicator> comm, std::shared_ptr<Store>) {
      ABSL_ASSERT_OK_AND_ASSIGN(const auto part, comm->Split(0, comm->rank()));
      if (comm->rank() == 1) part->Abort(absl::CancelledError("enough"));
      EXPECT_FALSE(part->Barrier().Wait().ok());
      ABSL_EXPECT_OK(comm->Barrier().Wait());
    });
  };
  once();
  const int before = OpenFiles();
  once();
  EXPECT_EQ(OpenFiles(), before);
}

}  // namespace
}  // namespace lockstep
