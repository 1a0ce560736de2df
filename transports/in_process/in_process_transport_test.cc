// Ranks as threads: results against closed forms, and every way in which ranks can fail each other.
#include "transports/in_process/in_process_transport.h"

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status_matchers.h"
#include "absl/synchronization/notification.h"
#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "transports/store/in_process_store.h"
#include "transports/testing/rank_threads.h"

namespace lockstep {
namespace {

using ::absl_testing::StatusIs;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

void RunRanks(int size, const std::function<void(std::unique_ptr<Communicator>)>& body) {
  InProcessTransport transport;
  ConnectRanks(transport, size, kTestDeadline,
               [&](std::unique_ptr<Communicator> communicator, std::shared_ptr<Store>) { body(std::move(communicator)); });
}

template <typename T>
Buffer View(std::vector<T>& v) {
  return MakeBuffer(absl::MakeSpan(v));
}

TEST(InProcess, CollectivesEqualTheirClosedFormsForOneToFourRanks) {
  for (int size = 1; size <= 4; ++size) {
    RunRanks(size, [size](std::unique_ptr<Communicator> comm) {
      for (const int count : {0, 1, 7, 3000}) {
        std::vector<double> a(count, comm->rank() + 1), out(count), avg(count, comm->rank()), mine(count, comm->rank());
        const double sum = size * (size + 1) / 2.0;
        ABSL_ASSERT_OK(comm->AllReduce(View(a), View(out), ReduceOp::kSum).Wait());
        EXPECT_THAT(out, Each(sum));
        EXPECT_THAT(a, Each(comm->rank() + 1.0));
        ABSL_ASSERT_OK(comm->AllReduce(View(avg), View(avg), ReduceOp::kAvg).Wait());
        EXPECT_THAT(avg, Each((size - 1) / 2.0));
        ABSL_ASSERT_OK(
            comm->AllReduce(View(a), View(a), ReduceOp::kPremulSum, {.premultiplier = comm->rank() + 1.0}).Wait());
        EXPECT_THAT(a, Each(size * (size + 1) * (2 * size + 1) / 6.0));
        ABSL_ASSERT_OK(comm->Broadcast(View(mine), size - 1).Wait());
        EXPECT_THAT(mine, Each(size - 1.0));
      }
      std::vector<int64_t> all(static_cast<size_t>(size)), own = {comm->rank() * 10};
      ABSL_ASSERT_OK(comm->AllGather(View(own), View(all)).Wait());
      for (int rank = 0; rank < size; ++rank) EXPECT_EQ(all[rank], rank * 10);
      ABSL_ASSERT_OK(comm->Barrier().Wait());
    });
  }
}

TEST(InProcess, OperationsStartedTogetherRunInOrder) {
  RunRanks(3, [](std::unique_ptr<Communicator> comm) {
    std::vector<int64_t> value = {comm->rank()};
    std::vector<Work> works;
    for (int i = 0; i < 100; ++i) works.push_back(comm->AllReduce(View(value), View(value), ReduceOp::kMax));
    for (int i = 0; i < 10; ++i) works.push_back(comm->AllReduce(View(value), View(value), ReduceOp::kSum));
    for (const Work& work : works) ABSL_ASSERT_OK(work.Wait());
    EXPECT_THAT(value, ElementsAre(2 * 59049));  // 3^10
  });
}

TEST(InProcess, MessagesReachTheirPeerAndOtherTagsAreAnErrorOnBoth) {
  RunRanks(2, [](std::unique_ptr<Communicator> comm) {
    std::vector<float> data = {comm->rank() == 0 ? 5.0f : 0.0f};
    const Work work = comm->rank() == 0 ? comm->Send(View(data), 1, 7) : comm->Recv(View(data), 0, 7);
    ABSL_ASSERT_OK(work.Wait());
    EXPECT_EQ(data[0], 5);
    const Work wrong = comm->rank() == 0 ? comm->Send(View(data), 1, 8) : comm->Recv(View(data), 0, 9);
    EXPECT_THAT(wrong.Wait(),
                StatusIs(absl::StatusCode::kFailedPrecondition, AllOf(HasSubstr("tag 8"), HasSubstr("tag 9"))));
  });
}

TEST(InProcess, RanksThatCallDifferentThingsAllGetOneErrorNamingBoth) {
  RunRanks(3, [](std::unique_ptr<Communicator> comm) {
    std::vector<float> data(comm->rank() == 2 ? 5 : 4);
    EXPECT_THAT(
        comm->AllReduce(View(data), View(data), ReduceOp::kSum, {.name = "loss"}).Wait(),
        StatusIs(absl::StatusCode::kFailedPrecondition, AllOf(HasSubstr("rank 0 all_reduce \"loss\""), HasSubstr("f32[4]"),
                                                              HasSubstr("rank 2"), HasSubstr("f32[5]"))));
    EXPECT_THAT(comm->Barrier().Wait(), StatusIs(absl::StatusCode::kFailedPrecondition));
  });
}

TEST(InProcess, ARankThatDoesNotComeIsNamedAtTheDeadline) {
  absl::Notification seen;
  RunRanks(3, [&](std::unique_ptr<Communicator> comm) {
    ABSL_ASSERT_OK(comm->Barrier({.name = "start"}).Wait());
    if (comm->rank() != 0) return seen.WaitForNotification();  // here, but not coming
    {
      EXPECT_THAT(comm->Barrier({.name = "lost", .timeout = absl::Milliseconds(50)}).Wait(),
                  StatusIs(absl::StatusCode::kDeadlineExceeded,
                           AllOf(HasSubstr("\"lost\""), HasSubstr("rank 1's last was barrier \"start\""))));
    }
    seen.Notify();
  });
}

TEST(InProcess, APeerThatIsGoneEndsThoseThatWaitForIt) {
  RunRanks(2, [](std::unique_ptr<Communicator> comm) {
    if (comm->rank() == 1) return;  // destroyed here
    EXPECT_THAT(comm->Barrier().Wait(), StatusIs(absl::StatusCode::kUnavailable, HasSubstr("rank 1 has left")));
  });
}

TEST(InProcess, AbortEndsPendingAndLaterOperationsWithItsStatusAndPeersWithItsReason) {
  RunRanks(2, [](std::unique_ptr<Communicator> comm) {
    if (comm->rank() == 0) {
      const Work pending = comm->Barrier();
      std::thread other([&] { comm->Abort(absl::CancelledError("enough")); });
      EXPECT_THAT(pending.Wait(), StatusIs(absl::StatusCode::kCancelled, HasSubstr("enough")));
      other.join();
      EXPECT_THAT(comm->Barrier().Wait(), StatusIs(absl::StatusCode::kCancelled, HasSubstr("enough")));
      EXPECT_THAT(comm->Split(0, 0).status(), StatusIs(absl::StatusCode::kCancelled, HasSubstr("enough")));
      EXPECT_THAT(comm->health(), StatusIs(absl::StatusCode::kCancelled));
    } else {
      std::vector<float> one(1);
      EXPECT_THAT(comm->Recv(View(one), 0, 0).Wait(),
                  StatusIs(absl::StatusCode::kUnavailable, AllOf(HasSubstr("rank 0"), HasSubstr("enough"))));
    }
  });
}

TEST(InProcess, WhatIsRefusedTakesNoPlaceInTheOrder) {
  RunRanks(2, [](std::unique_ptr<Communicator> comm) {
    std::vector<float> data(4, 1), three(3);
    if (comm->rank() == 0) {
      EXPECT_THAT(comm->AllReduce(View(data), View(data), ReduceOp::kBand).Wait(),
                  StatusIs(absl::StatusCode::kInvalidArgument, AllOf(HasSubstr("band"), HasSubstr("f32"))));
      EXPECT_THAT(comm->AllReduce(View(data), View(three), ReduceOp::kSum).Wait(),
                  StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("f32[3]")));
      EXPECT_THAT(comm->Broadcast(View(data), 2).Wait(), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("rank 2")));
      EXPECT_THAT(comm->Send(View(data), 0, 0).Wait(), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("no peer")));
      EXPECT_THAT(comm->Send(View(data), 1, 1 << 16).Wait(), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("tag")));
      EXPECT_THAT(comm->Barrier({.timeout = absl::Seconds(-1)}).Wait(),
                  StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("timeout")));
      const Buffer null{nullptr, 4, DType::kF32, Device()};
      EXPECT_THAT(comm->Broadcast(null, 0).Wait(), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("null")));
    }
    ABSL_ASSERT_OK(comm->AllReduce(View(data), View(data), ReduceOp::kSum).Wait());
    EXPECT_THAT(data, Each(2.0f));
  });
}

TEST(InProcess, SplitOrdersByKeyAndLeavesOutNegativeColors) {
  RunRanks(4, [](std::unique_ptr<Communicator> comm) {
    const int color = comm->rank() == 3 ? -1 : comm->rank() % 2;
    ABSL_ASSERT_OK_AND_ASSIGN(auto part, comm->Split(color, -comm->rank()));
    if (comm->rank() == 3) {
      EXPECT_EQ(part, nullptr);
      return;
    }
    EXPECT_EQ(part->size(), comm->rank() == 1 ? 1 : 2);
    EXPECT_EQ(part->rank(), comm->rank() == 0 ? 1 : 0);
    std::vector<int32_t> sum = {comm->rank()};
    ABSL_ASSERT_OK(part->AllReduce(View(sum), View(sum), ReduceOp::kSum).Wait());
    EXPECT_EQ(sum[0], comm->rank() == 1 ? 1 : 2);
  });
}

TEST(InProcess, ConnectRefusesBadRanksAndNamesThoseThatDoNotCome) {
  InProcessTransport transport;
  InProcessStore store;
  ConnectOptions options;
  options.rank = 2;
  options.size = 2;
  EXPECT_THAT(transport.Connect(store, options).status(), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("rank 2")));
  options.rank = 0;
  options.timeout = absl::Milliseconds(20);
  EXPECT_THAT(transport.Connect(store, options).status(),
              StatusIs(absl::StatusCode::kDeadlineExceeded, HasSubstr("ranks 1")));
}

TEST(InProcess, ArenasAreZeroAlignedAndOfOneSize) {
  RunRanks(2, [](std::unique_ptr<Communicator> comm) {
    {
      ABSL_ASSERT_OK_AND_ASSIGN(const Arena arena, comm->CreateArena(1000));
      EXPECT_EQ(reinterpret_cast<uintptr_t>(arena.data()) % Arena::kAlignment, 0u);
      for (int i = 0; i < 1000; ++i) ASSERT_EQ(static_cast<char*>(arena.data())[i], 0);
    }
    EXPECT_THAT(comm->CreateArena(comm->rank() + 1).status(),
                StatusIs(absl::StatusCode::kFailedPrecondition, AllOf(HasSubstr("rank 0"), HasSubstr("rank 1"))));
  });
}

}  // namespace
}  // namespace lockstep
