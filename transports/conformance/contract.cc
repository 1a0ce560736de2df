// What a communicator promises besides results: refusals, mismatches, deadlines, lost peers, abort, split, arenas.
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status_matchers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "transports/conformance/conformance.h"
#include "transports/store/in_process_store.h"
#include "transports/testing/rank_threads.h"

namespace lockstep {
namespace {

using ::absl_testing::StatusIs;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;

// Of operations that shall fail: a transport that finds a mismatch only at the deadline gets there soon.
constexpr absl::Duration kShort = absl::Milliseconds(300);

template <typename T>
Buffer View(std::vector<T>& v) {
  return MakeBuffer(absl::MakeSpan(v));
}

// Until a peer has seen what it came for.
void StayUntilSeen(Store& store) { ABSL_EXPECT_OK(store.Get("seen", kTestDeadline)); }

TEST_P(TransportConformance, RanksThatCallDifferentThingsAllGetOneErrorNamingBoth) {
  RunRanks(3, [](std::unique_ptr<Communicator> comm) {
    std::vector<float> data(comm->rank() == 2 ? 5 : 4);
    EXPECT_THAT(comm->AllReduce(View(data), View(data), ReduceOp::kSum, {.name = "loss", .timeout = kShort}).Wait(),
                StatusIs(absl::StatusCode::kFailedPrecondition, AllOf(HasSubstr("all_reduce \"loss\""), HasSubstr("f32[4]"),
                                                                      HasSubstr("rank 2"), HasSubstr("f32[5]"))));
    EXPECT_THAT(comm->Barrier().Wait(), StatusIs(absl::StatusCode::kFailedPrecondition));
  });
}

// A collective over two ranks with `own` for one rank's part and `all` for both ranks' parts.
struct Call {
  const char* what;
  std::function<Work(Communicator&, Buffer all, Buffer own, const CallOptions&)> issue;
};

std::vector<Call> CallsOfEveryKind() {
  using C = Communicator;
  using O = CallOptions;
  constexpr ReduceOp kSum = ReduceOp::kSum;
  return {
      {"sum", [](C& c, Buffer, Buffer own, const O& o) { return c.AllReduce(own, own, kSum, o); }},
      {"max", [](C& c, Buffer, Buffer own, const O& o) { return c.AllReduce(own, own, ReduceOp::kMax, o); }},
      {"sum to 0", [](C& c, Buffer, Buffer own, const O& o) { return c.Reduce(own, own, kSum, 0, o); }},
      {"sum to 1", [](C& c, Buffer, Buffer own, const O& o) { return c.Reduce(own, own, kSum, 1, o); }},
      {"reduce_scatter", [](C& c, Buffer all, Buffer own, const O& o) { return c.ReduceScatter(all, own, kSum, o); }},
      {"broadcast from 0", [](C& c, Buffer, Buffer own, const O& o) { return c.Broadcast(own, 0, o); }},
      {"broadcast from 1", [](C& c, Buffer, Buffer own, const O& o) { return c.Broadcast(own, 1, o); }},
      {"all_gather", [](C& c, Buffer all, Buffer own, const O& o) { return c.AllGather(own, all, o); }},
      {"gather to 0", [](C& c, Buffer all, Buffer own, const O& o) { return c.Gather(own, all, 0, o); }},
      {"scatter from 0", [](C& c, Buffer all, Buffer own, const O& o) { return c.Scatter(all, own, 0, o); }},
      {"barrier", [](C& c, Buffer, Buffer, const O& o) { return c.Barrier(o); }},
  };
}

// Rank 0 makes one call and rank 1 another.
void ExpectMismatch(Communicator& comm, const Call& first, const Call& second) {
  std::vector<float> own(4), all(8);
  const Work work =
      (comm.rank() == 0 ? first : second).issue(comm, View(all), View(own), {.timeout = absl::Milliseconds(50)});
  EXPECT_THAT(work.Wait(), StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("rank 1")));
}

TEST_P(TransportConformance, EveryPairOfDifferentOperationsIsAMismatchAndNeitherOverrunsMemory) {
  const std::vector<Call> calls = CallsOfEveryKind();
  for (const Call& a : calls) {
    for (const Call& b : calls) {
      if (&a == &b) continue;
      SCOPED_TRACE(testing::Message() << "rank 0: " << a.what << ", rank 1: " << b.what);
      RunRanks(2, [&](std::unique_ptr<Communicator> comm) { ExpectMismatch(*comm, a, b); });
    }
  }
}

TEST_P(TransportConformance, OneOperationWithAnotherDTypeNameOrCountsIsAMismatch) {
  using C = Communicator;
  using O = CallOptions;
  const auto sum = [](absl::string_view name, DType dtype) {
    return [=](C& c, Buffer, Buffer own, O o) {
      o.name = name;
      own.dtype = dtype;
      return c.AllReduce(own, own, ReduceOp::kSum, o);
    };
  };
  const auto gather = [](std::vector<int64_t> counts) {
    return [=](C& c, Buffer all, Buffer own, const O& o) {
      all.count = counts[static_cast<size_t>(c.rank())];
      return c.AllGatherV(all, own, counts, o);
    };
  };
  const std::pair<Call, Call> pairs[] = {
      {{"f32", sum("loss", DType::kF32)}, {"i32", sum("loss", DType::kI32)}},
      {{"loss", sum("loss", DType::kF32)}, {"accuracy", sum("accuracy", DType::kF32)}},
      {{"1 and 3", gather({1, 3})}, {"3 and 1", gather({3, 1})}},
  };
  for (const std::pair<Call, Call>& pair : pairs) {
    SCOPED_TRACE(testing::Message() << pair.first.what << " and " << pair.second.what);
    RunRanks(2, [&](std::unique_ptr<Communicator> comm) { ExpectMismatch(*comm, pair.first, pair.second); });
  }
}

// What only two of the ranks know of each other.
TEST_P(TransportConformance, CountsThatOnlyTwoRanksKnowAndDisagreeAboutAreAMismatch) {
  RunRanks(2, [](std::unique_ptr<Communicator> comm) {
    std::vector<float> in(4), out(8);
    const CallOptions options = {.timeout = absl::Milliseconds(50)};
    const std::vector<int64_t> counts = {4, 3};
    const Buffer all = View(out), from_all = {all.data, 7, all.dtype, all.device};
    EXPECT_THAT(comm->GatherV(View(in), from_all, counts, 0, options).Wait(),
                StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("rank 1")));
  });
  RunRanks(2, [](std::unique_ptr<Communicator> comm) {
    std::vector<float> in(4), out(4);
    const std::vector<int64_t> even = {2, 2}, uneven = {1, 3};
    const bool first = comm->rank() == 0;
    EXPECT_THAT(
        comm->AllToAllV(View(in), first ? uneven : even, View(out), even, {.timeout = absl::Milliseconds(50)}).Wait(),
        StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("rank 1")));
  });
}

// With the communicator's own deadline, a minute away.
TEST_P(TransportConformance, WhatCannotEndIsFoundLongBeforeTheDeadline) {
  using C = Communicator;
  struct Disagreement {
    const char* what;
    std::function<Work(C&, Buffer)> calls[2];
  };
  const auto named = [](absl::string_view name) {
    return [name](C& c, Buffer b) { return c.AllReduce(b, b, ReduceOp::kSum, {.name = name}); };
  };
  const auto peer = [](C& c) { return 1 - c.rank(); };
  const Disagreement disagreements[] = {
      {"swapped names", {named("a"), named("b")}},
      {"another count", {named("a"), [](C& c, Buffer b) { return c.Broadcast(b, 0); }}},
      {"both receive",
       {[&](C& c, Buffer b) { return c.Recv(b, peer(c), 0); }, [&](C& c, Buffer b) { return c.Recv(b, peer(c), 0); }}},
      {"both send",
       {[&](C& c, Buffer b) { return c.Send(b, peer(c), 0); }, [&](C& c, Buffer b) { return c.Send(b, peer(c), 0); }}},
      {"tags",
       {[&](C& c, Buffer b) { return c.Send(b, peer(c), 1); }, [&](C& c, Buffer b) { return c.Recv(b, peer(c), 2); }}},
      {"a message and a barrier",
       {[&](C& c, Buffer b) { return c.Send(b, peer(c), 1); }, [](C& c, Buffer) { return c.Barrier(); }}},
  };
  for (const Disagreement& d : disagreements) {
    SCOPED_TRACE(d.what);
    RunRanks(2, [&](std::unique_ptr<Communicator> comm) {
      std::vector<float> data(4);
      const absl::Time start = absl::Now();
      ABSL_ASSERT_OK(comm->Barrier().Wait());
      EXPECT_THAT(d.calls[comm->rank()](*comm, View(data)).Wait(),
                  StatusIs(absl::StatusCode::kFailedPrecondition, AllOf(HasSubstr("rank 0"), HasSubstr("rank 1"))));
      EXPECT_LT(absl::Now() - start, kTestDeadline / 2);
    });
  }
}

TEST_P(TransportConformance, ARankThatComesLateIsNoMismatch) {
  RunRanks(3, [](std::unique_ptr<Communicator> comm, Store& store) {
    std::vector<float> data(4, 1);
    for (int round = 0; round < 2; ++round) {
      // Long enough for the others to ask each other what they wait in.
      const Work early = comm->rank() == 1 ? Work() : comm->Barrier({.name = "late"});
      const absl::Time until = absl::Now() + absl::Milliseconds(450);
      while (comm->rank() == 0 && absl::Now() < until) std::this_thread::yield();
      const std::string go = absl::StrCat("go ", round);
      if (comm->rank() == 0) {
        ABSL_EXPECT_OK(store.Set(go, ""));
      } else if (comm->rank() == 1) {
        ABSL_EXPECT_OK(store.Get(go, kTestDeadline));
      }
      ABSL_ASSERT_OK(comm->rank() == 1 ? comm->Barrier({.name = "late"}).Wait() : early.Wait());
      ABSL_ASSERT_OK(comm->AllReduce(View(data), View(data), ReduceOp::kMax).Wait());
    }
  });
}

TEST_P(TransportConformance, ARankThatDoesNotComeIsNamedAtTheDeadline) {
  RunRanks(3, [](std::unique_ptr<Communicator> comm, Store& store) {
    ABSL_ASSERT_OK(comm->Barrier({.name = "start"}).Wait());
    if (comm->rank() == 2) return StayUntilSeen(store);  // here, but not coming
    EXPECT_THAT(comm->Barrier({.name = "lost", .timeout = kShort}).Wait(),
                StatusIs(absl::StatusCode::kDeadlineExceeded, AllOf(HasSubstr("\"lost\""), HasSubstr("rank 2"))));
    if (comm->rank() == 0) {
      ABSL_EXPECT_OK(store.Set("seen", ""));
    }
  });
}

TEST_P(TransportConformance, AReceiverWhoseSenderDoesNotComeIsTold) {
  RunRanks(2, [](std::unique_ptr<Communicator> comm, Store& store) {
    if (comm->rank() == 1) return StayUntilSeen(store);
    std::vector<float> data(1);
    EXPECT_THAT(comm->Recv(View(data), 1, 3, {.timeout = kShort}).Wait(),
                StatusIs(absl::StatusCode::kDeadlineExceeded, AllOf(HasSubstr("rank 1"), HasSubstr("tag 3"))));
    ABSL_EXPECT_OK(store.Set("seen", ""));
  });
}

TEST_P(TransportConformance, APeerThatIsGoneEndsThoseThatWaitForIt) {
  RunRanks(3, [](std::unique_ptr<Communicator> comm) {
    if (comm->rank() == 1) return;  // destroyed here
    EXPECT_THAT(comm->Barrier().Wait(), StatusIs(absl::StatusCode::kUnavailable, HasSubstr("rank 1")));
    EXPECT_THAT(comm->health(), StatusIs(absl::StatusCode::kUnavailable));
  });
}

TEST_P(TransportConformance, AbortEndsPendingAndLaterOperationsWithItsStatusAndPeersWithItsReason) {
  RunRanks(3, [](std::unique_ptr<Communicator> comm, Store& store) {
    std::vector<float> one(1);
    if (comm->rank() == 2) return StayUntilSeen(store);  // so that the barrier stays pending
    if (comm->rank() == 0) {
      const Work pending = comm->Barrier();
      std::thread other([&] { comm->Abort(absl::CancelledError("enough")); });
      EXPECT_THAT(pending.Wait(), StatusIs(absl::StatusCode::kCancelled, HasSubstr("enough")));
      other.join();
      const auto aborted = StatusIs(absl::StatusCode::kCancelled, HasSubstr("enough"));
      EXPECT_THAT(comm->Barrier().Wait(), aborted);
      EXPECT_THAT(comm->AllReduce(View(one), View(one), ReduceOp::kSum).Wait(), aborted);
      EXPECT_THAT(comm->Broadcast(View(one), 0).Wait(), aborted);
      EXPECT_THAT(comm->Broadcast(View(one), 7).Wait(), aborted);
      EXPECT_THAT(comm->Send(View(one), 1, 0).Wait(), aborted);
      EXPECT_THAT(comm->Recv(View(one), 1, 0).Wait(), aborted);
      EXPECT_THAT(comm->Split(0, 0).status(), aborted);
      EXPECT_THAT(comm->CreateArena(1).status(), aborted);
      EXPECT_THAT(comm->health(), aborted);
    } else {
      EXPECT_THAT(comm->Barrier().Wait(),
                  StatusIs(absl::StatusCode::kUnavailable, AllOf(HasSubstr("rank 0"), HasSubstr("enough"))));
      ABSL_EXPECT_OK(store.Set("seen", ""));
    }
  });
}

TEST_P(TransportConformance, AbortWithOkIsAnErrorToo) {
  RunRanks(2, [](std::unique_ptr<Communicator> comm) {
    comm->Abort(absl::OkStatus());
    EXPECT_THAT(comm->health(), StatusIs(absl::StatusCode::kInternal, HasSubstr("OK")));
    EXPECT_THAT(comm->Barrier().Wait(), StatusIs(absl::StatusCode::kInternal));
  });
}

TEST_P(TransportConformance, WhatIsRefusedTakesNoPlaceInTheOrder) {
  RunRanks(2, [](std::unique_ptr<Communicator> comm) {
    std::vector<float> data(4, 1), three(3);
    if (comm->rank() == 0) {
      const auto refused = [](const char* text) { return StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(text)); };
      EXPECT_THAT(comm->AllReduce(View(data), View(data), ReduceOp::kBand).Wait(), refused("band"));
      EXPECT_THAT(comm->AllReduce(View(data), View(three), ReduceOp::kSum).Wait(), refused("f32[3]"));
      EXPECT_THAT(comm->Broadcast(View(data), 2).Wait(), refused("rank 2"));
      EXPECT_THAT(comm->Send(View(data), 0, 0).Wait(), refused("no peer"));
      EXPECT_THAT(comm->Send(View(data), 1, 1 << 16).Wait(), refused("tag"));
      EXPECT_THAT(comm->Barrier({.timeout = absl::Seconds(-1)}).Wait(), refused("timeout"));
      EXPECT_THAT(comm->Broadcast(Buffer{nullptr, 4, DType::kF32, Device()}, 0).Wait(), refused("null"));
      EXPECT_THAT(comm->Broadcast(Buffer{data.data(), 4, DType::kF32, {DeviceType::kCuda, 0}}, 0).Wait(), refused("cuda:0"));
    }
    ABSL_ASSERT_OK(comm->AllReduce(View(data), View(data), ReduceOp::kSum).Wait());
    EXPECT_THAT(data, Each(2.0f));
  });
}

TEST_P(TransportConformance, SplitOrdersByKeyAndLeavesOutNegativeColors) {
  RunRanks(4, [](std::unique_ptr<Communicator> comm) {
    const int color = comm->rank() == 3 ? -1 : comm->rank() % 2;
    ABSL_ASSERT_OK_AND_ASSIGN(auto part, comm->Split(color, -comm->rank()));
    if (comm->rank() == 3) {
      EXPECT_EQ(part, nullptr);
    } else {
      EXPECT_EQ(part->size(), comm->rank() == 1 ? 1 : 2);
      EXPECT_EQ(part->rank(), comm->rank() == 0 ? 1 : 0);
      std::vector<int32_t> sum = {comm->rank()};
      ABSL_ASSERT_OK(part->AllReduce(View(sum), View(sum), ReduceOp::kSum).Wait());
      EXPECT_EQ(sum[0], comm->rank() == 1 ? 1 : 2);
    }
    ABSL_ASSERT_OK(comm->Barrier().Wait());
  });
}

TEST_P(TransportConformance, ASplitOutlivesItsParentAndSharesNoOrderWithIt) {
  RunRanks(2, [](std::unique_ptr<Communicator> comm) {
    ABSL_ASSERT_OK_AND_ASSIGN(auto part, comm->Split(0, comm->rank()));
    ABSL_ASSERT_OK_AND_ASSIGN(auto grandchild, part->Split(5, comm->rank()));
    // Rank 0 waits in one communicator, rank 1 in the other first: both end.
    const Work a = comm->rank() == 0 ? comm->Barrier() : part->Barrier();
    const Work b = comm->rank() == 0 ? part->Barrier() : comm->Barrier();
    ABSL_EXPECT_OK(b.Wait());
    ABSL_EXPECT_OK(a.Wait());
    ABSL_ASSERT_OK(grandchild->Barrier().Wait());  // so that both ranks are through with the parents
    comm.reset();
    part.reset();
    std::vector<int32_t> one = {1};
    ABSL_ASSERT_OK(grandchild->AllReduce(View(one), View(one), ReduceOp::kSum).Wait());
    EXPECT_EQ(one[0], 2);
  });
}

TEST_P(TransportConformance, ConnectRefusesBadRanksAndNamesThoseThatDoNotCome) {
  InProcessStore store;
  ConnectOptions options;
  options.host = "127.0.0.1";
  options.rank = 2;
  options.size = 2;
  EXPECT_THAT(transport().Connect(store, options).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("rank 2")));
  options.rank = 0;
  options.size = 0;
  EXPECT_THAT(transport().Connect(store, options).status(), StatusIs(absl::StatusCode::kInvalidArgument));
  options.size = 2;
  options.timeout = absl::Milliseconds(50);
  EXPECT_THAT(transport().Connect(store, options).status(),
              StatusIs(absl::StatusCode::kDeadlineExceeded, HasSubstr("ranks 1")));
}

TEST_P(TransportConformance, ArenasAreZeroAlignedAndOfOneSize) {
  RunRanks(2, [](std::unique_ptr<Communicator> comm) {
    {
      ABSL_ASSERT_OK_AND_ASSIGN(const Arena arena, comm->CreateArena(1000));
      EXPECT_EQ(reinterpret_cast<uintptr_t>(arena.data()) % Arena::kAlignment, 0u);
      for (int i = 0; i < 1000; ++i) ASSERT_EQ(static_cast<char*>(arena.data())[i], 0);
      const Buffer slice = arena.Slice(Arena::kAlignment, 4, DType::kF32);
      static_cast<float*>(slice.data)[3] = 1;
      ABSL_ASSERT_OK(comm->AllReduce(slice, slice, ReduceOp::kSum).Wait());
      EXPECT_EQ(static_cast<float*>(slice.data)[3], 2);
    }
    EXPECT_THAT(comm->CreateArena(comm->rank() + 1).status(),
                StatusIs(absl::StatusCode::kFailedPrecondition, AllOf(HasSubstr("rank 0"), HasSubstr("rank 1"))));
  });
}

TEST_P(TransportConformance, AnArenaThatNoMemoryHoldsIsAnErrorOnAllRanks) {
  RunRanks(2, [](std::unique_ptr<Communicator> comm) {
    EXPECT_THAT(comm->CreateArena(-1).status(), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("-1 bytes")));
    ABSL_EXPECT_OK(comm->health());
    const auto exhausted =
        StatusIs(absl::StatusCode::kResourceExhausted,
                 AllOf(HasSubstr(absl::StrCat("rank ", comm->rank(), ": create arena")), HasSubstr("9223372036854775807")));
    EXPECT_THAT(comm->CreateArena(std::numeric_limits<int64_t>::max()).status(), exhausted);
    EXPECT_THAT(comm->health(), exhausted);
  });
}

TEST_P(TransportConformance, SeveralThreadsMayWaitForOneWork) {
  RunRanks(2, [](std::unique_ptr<Communicator> comm) {
    std::vector<Work> works;
    for (int i = 0; i < 20; ++i) works.push_back(comm->Barrier());
    std::vector<std::thread> waiters;
    for (int t = 0; t < 3; ++t) {
      waiters.emplace_back([&] {
        for (const Work& work : works) ABSL_EXPECT_OK(work.Wait());
      });
    }
    for (std::thread& waiter : waiters) waiter.join();
  });
}

}  // namespace
}  // namespace lockstep
