// Joining a job over real sockets; ranks are threads, each with an environment of its own.
#include "ddp/init.h"

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/log/log.h"
#include "absl/status/status_matchers.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "absl/types/span.h"
#include "ddp/rank_log.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "transports/net/file_descriptor.h"
#include "transports/net/port_holder.h"
#include "transports/net/socket.h"
#include "transports/testing/open_files.h"

namespace lockstep {
namespace {

using ::absl_testing::StatusIs;
using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;

using Group = absl::StatusOr<std::shared_ptr<ProcessGroup>>;

Environment Launched(int rank, int world_size, int port) {
  return [=](absl::string_view name) -> absl::optional<std::string> {
    const std::map<std::string, std::string> table = {{"RANK", absl::StrCat(rank)},
                                                      {"LOCAL_RANK", absl::StrCat(rank)},
                                                      {"WORLD_SIZE", absl::StrCat(world_size)},
                                                      {"LOCAL_WORLD_SIZE", absl::StrCat(world_size)},
                                                      {"MASTER_ADDR", "127.0.0.1"},
                                                      {"MASTER_PORT", absl::StrCat(port)}};
    const auto it = table.find(std::string(name));
    if (it == table.end()) return absl::nullopt;
    return it->second;
  };
}

ProcessGroupOptions Within(absl::Duration timeout) {
  ProcessGroupOptions options;
  options.timeout = timeout;
  return options;
}

void RunThreads(int count, const std::function<void(int)>& body) {
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) threads.emplace_back(body, i);
  for (std::thread& thread : threads) thread.join();
}

TEST(InitProcessGroup, RanksJoinReduceAndLeaveInAnyOrder) {
  for (int size = 1; size <= 4; ++size) {
    const PortHolder port = PortHolder::BindFreePort().value();
    RunThreads(size, [&](int rank) {
      ABSL_ASSERT_OK_AND_ASSIGN(const auto group,
                                InitProcessGroup(Within(absl::Minutes(1)), Launched(rank, size, port.port())));
      EXPECT_EQ(group->rank(), rank);
      EXPECT_EQ(group->size(), size);
      EXPECT_EQ(group->backend(), size == 1 ? "none" : "gloo");
      EXPECT_FALSE(group->info().host.empty());
      std::vector<double> sum = {rank + 1.0};
      ABSL_ASSERT_OK(group->AllReduce(MakeBuffer(absl::MakeSpan(sum)), ReduceOp::kSum));
      EXPECT_EQ(sum[0], size * (size + 1) / 2.0);
      ABSL_ASSERT_OK_AND_ASSIGN(auto own, group->NewCommunicator());
      ABSL_EXPECT_OK(own->Barrier().Wait());
      own.reset();
      ABSL_EXPECT_OK(group->Destroy());
    });
  }
}

TEST(InitProcessGroup, AUrlAndOptionsDoWithoutAnEnvironment) {
  const PortHolder port = PortHolder::BindFreePort().value();
  RunThreads(2, [&](int rank) {
    ProcessGroupOptions options = Within(absl::Minutes(1));
    options.init_method = absl::StrCat("tcp://localhost:", port.port(), "?world_size=2");
    options.rank = rank;
    ABSL_ASSERT_OK_AND_ASSIGN(const auto group, InitProcessGroup(options, [](absl::string_view) { return absl::nullopt; }));
    ABSL_EXPECT_OK(group->Barrier());
    ABSL_EXPECT_OK(group->Destroy());
  });
}

TEST(InitProcessGroup, WorldSizesThatDifferAreToldOnEveryRank) {
  for (const bool rank_zero_counts_more : {false, true}) {
    const PortHolder port = PortHolder::BindFreePort().value();
    RunThreads(2, [&](int rank) {
      const int size = (rank == 0) == rank_zero_counts_more ? 3 : 2;
      const Group group = InitProcessGroup(Within(absl::Minutes(1)), Launched(rank, size, port.port()));
      EXPECT_THAT(group.status(), StatusIs(absl::StatusCode::kFailedPrecondition,
                                           AllOf(HasSubstr(absl::StrCat("rank ", rank)), ContainsRegex("rank 0 counts [23]"),
                                                 ContainsRegex("rank 1.* [23];"), HasSubstr("same world size"))));
    });
  }
}

TEST(InitProcessGroup, ARankThatRankZeroDoesNotCountIsTold) {
  const PortHolder port = PortHolder::BindFreePort().value();
  absl::Notification told;
  RunThreads(3, [&](int rank) {
    const Group group = InitProcessGroup(Within(absl::Minutes(1)), Launched(rank, rank == 2 ? 3 : 2, port.port()));
    if (rank == 2) {
      told.Notify();
      EXPECT_THAT(group.status(), StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("rank 2 3")));
      return;
    }
    ABSL_ASSERT_OK(group);
    told.WaitForNotification();  // the store has to be there for rank 2
    ABSL_EXPECT_OK((*group)->Destroy());
  });
}

TEST(InitProcessGroup, ARankTakenTwiceIsToldToTheSecondWithHostAndPid) {
  const PortHolder port = PortHolder::BindFreePort().value();
  absl::Notification told;
  RunThreads(3, [&](int thread) {
    const int rank = thread == 0 ? 0 : 1;
    const Group group = InitProcessGroup(Within(absl::Minutes(1)), Launched(rank, 2, port.port()));
    if (!group.ok()) {
      EXPECT_THAT(group.status(), StatusIs(absl::StatusCode::kAlreadyExists,
                                           AllOf(HasSubstr("rank 1 is taken by rank 1 (host "), HasSubstr("pid "))));
      told.Notify();
      return;
    }
    told.WaitForNotification();
    ABSL_EXPECT_OK((*group)->Destroy());
  });
}

TEST(InitProcessGroup, RanksThatDoNotComeAreNamedOnEveryRankThatDid) {
  const PortHolder port = PortHolder::BindFreePort().value();
  RunThreads(2, [&](int rank) {
    const Group group = InitProcessGroup(Within(absl::Milliseconds(400)), Launched(rank, 4, port.port()));
    EXPECT_THAT(group.status(),
                StatusIs(absl::StatusCode::kDeadlineExceeded, AllOf(HasSubstr("of 4 ranks"), HasSubstr(": 2, 3"))));
  });
}

TEST(InitProcessGroup, APortThatIsTakenIsToldToRankZeroAtOnceAndAStrangerToTheOthersByTheirDeadline) {
  ABSL_ASSERT_OK_AND_ASSIGN(const FileDescriptor stranger, ListenOn({"127.0.0.1", 0}));
  ABSL_ASSERT_OK_AND_ASSIGN(const int port, LocalPort(stranger.get()));
  EXPECT_THAT(InitProcessGroup(Within(absl::Minutes(1)), Launched(0, 2, port)).status(),
              StatusIs(absl::StatusCode::kUnavailable, AllOf(HasSubstr(absl::StrCat(":", port)), HasSubstr("in use"))));
  EXPECT_THAT(InitProcessGroup(Within(absl::Milliseconds(100)), Launched(1, 2, port)).status(),
              StatusIs(absl::StatusCode::kDeadlineExceeded, HasSubstr(absl::StrCat(":", port))));
}

TEST(InitProcessGroup, WithoutRankZeroTheOthersAreToldWhereTheyKnocked) {
  const PortHolder port = PortHolder::BindFreePort().value();
  EXPECT_THAT(InitProcessGroup(Within(absl::Milliseconds(50)), Launched(1, 2, port.port())).status(),
              StatusIs(absl::StatusCode::kDeadlineExceeded,
                       AllOf(HasSubstr("rank 1 of 2"), HasSubstr(absl::StrCat("127.0.0.1:", port.port())))));
}

TEST(InitProcessGroup, UnknownBackendsAndHostsAreRefusedBeforeAnyWait) {
  ProcessGroupOptions options;
  options.backend = "ncll";
  EXPECT_THAT(InitProcessGroup(options, Launched(0, 2, 1)).status(),
              StatusIs(absl::StatusCode::kNotFound, AllOf(HasSubstr("ncll"), HasSubstr("gloo"))));
  options = {};
  options.init_method = "tcp://no-such-host.invalid:29500?rank=1&world_size=2";
  EXPECT_THAT(InitProcessGroup(options).status(),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("no-such-host.invalid")));
}

TEST(InitProcessGroup, AGroupOfOneOpensNoFileAndNeedsNoTransport) {
  ProcessGroupOptions options;
  options.backend = "none at all";
  const int before = OpenFiles();
  ABSL_ASSERT_OK_AND_ASSIGN(const auto group, InitProcessGroup(options, [](absl::string_view) { return absl::nullopt; }));
  EXPECT_EQ(OpenFiles(), before);
  ABSL_EXPECT_OK(group->Barrier());
  ABSL_EXPECT_OK(group->Destroy());
}

TEST(InitProcessGroup, DestroyLeavesNoFileOpen) {
  const auto once = [] {
    const PortHolder port = PortHolder::BindFreePort().value();
    RunThreads(2, [&](int rank) {
      ABSL_ASSERT_OK_AND_ASSIGN(const auto group,
                                InitProcessGroup(Within(absl::Minutes(1)), Launched(rank, 2, port.port())));
      ABSL_EXPECT_OK(group->Destroy());
    });
  };
  once();
  const int before = OpenFiles();
  once();
  EXPECT_EQ(OpenFiles(), before);
}

// As in `return group->Destroy();` at the end of a function whose engine is a local variable.
TEST(InitProcessGroup, WhatWasSplitFromAGroupMayOutliveItsDestroyAndFailsInWords) {
  const PortHolder port = PortHolder::BindFreePort().value();
  RunThreads(2, [&](int rank) {
    ABSL_ASSERT_OK_AND_ASSIGN(const auto group, InitProcessGroup(Within(absl::Minutes(1)), Launched(rank, 2, port.port())));
    ABSL_ASSERT_OK_AND_ASSIGN(const auto own, group->NewCommunicator());
    ABSL_EXPECT_OK(group->Destroy());
    own->Abort(absl::CancelledError("the engine was destroyed"));
    EXPECT_THAT(own->Barrier().Wait(), StatusIs(absl::StatusCode::kCancelled));
  });
}

TEST(RankLog, LinesCarryRankAndHostAndRankZeroSpeaksOnce) {
  RankInfo info;
  info.rank = 2;
  info.world_size = 4;
  info.host = "host-a";
  PrefixLogLines(info);
  testing::internal::CaptureStderr();
  LOG(WARNING) << "one\ntwo";
  LOG(INFO) << "below the threshold";
  const std::string lines = testing::internal::GetCapturedStderr();
  EXPECT_THAT(lines, ContainsRegex("^W[0-9]{4} [0-9:.]+ init_test.cc:[0-9]+ rank 2/4 host-a] one\nW.*host-a] two\n$"));

  ABSL_ASSERT_OK_AND_ASSIGN(const auto group, InitProcessGroup({}, [](absl::string_view) { return absl::nullopt; }));
  testing::internal::CaptureStderr();
  LogOnRankZero(*group, absl::LogSeverity::kWarning, "hello");
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("rank 0/1 "));
}

}  // namespace
}  // namespace lockstep
