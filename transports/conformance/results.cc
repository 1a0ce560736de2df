// What operations compute: every cell of the table (see cell.h), then order, bits and rounding.
#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status_matchers.h"
#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "google/protobuf/wrappers.pb.h"
#include "gtest/gtest.h"
#include "transports/conformance/cell.h"
#include "transports/conformance/conformance.h"
#include "transports/proto_collectives.h"
#include "transports/string_collectives.h"

namespace lockstep {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

template <typename T>
Buffer View(std::vector<T>& v) {
  return MakeBuffer(absl::MakeSpan(v));
}

// Runs all cells on this rank, and stops at the first that fails, where the ranks may no longer be in step.
void RunCells(Communicator& comm, const std::vector<Cell>& cells) {
  int number = 0;
  for (const Cell& cell : cells) {
    const std::string wrong = RunCell(comm, cell, number++);
    ASSERT_EQ(wrong, "") << DescribeCell(cell) << ", rank " << comm.rank() << " of " << comm.size();
  }
}

TEST(ConformanceTable, EveryFormIsThereForEveryDTypeReductionThatIsDefinedAndSizeInPlaceAndNot) {
  std::map<std::string, int> cells;
  for (const Cell& cell : AllCells(/*large=*/true)) ++cells[DescribeCell(cell)];
  std::string missing;
  const auto need = [&](const Cell& cell) {
    if (cells[DescribeCell(cell)] == 0) missing += DescribeCell(cell) + "\n";
  };
  for (int form = 0; form < kNumForms; ++form) {
    for (int dtype = 0; dtype < kNumDTypes; ++dtype) {
      for (int op = 0; op < kNumReduceOps; ++op) {
        Cell cell{static_cast<Form>(form), static_cast<DType>(dtype), static_cast<ReduceOp>(op), 0, false};
        if (!FormReduces(cell.form)) cell.op = ReduceOp::kSum;
        if (!CheckReduction(cell.dtype, cell.op).ok() && FormReduces(cell.form)) continue;
        for (const int64_t count : {int64_t{0}, int64_t{1}, int64_t{6}, int64_t{1001}, LargeCount(cell.dtype)}) {
          cell.count = count;
          for (const bool in_place : {false, true}) {
            cell.in_place = in_place && FormCanBeInPlace(cell.form);
            need(cell);
          }
        }
      }
    }
  }
  EXPECT_EQ(missing, "") << "these cells are not covered";
}

TEST_P(TransportConformance, EveryCellOfTheTableIsExactOnGroupsOfEverySize) {
  const std::vector<Cell> cells = AllCells(/*large=*/false);
  for (int size = 1; size <= GetParam().largest_size; ++size) {
    RunRanks(size, [&](std::unique_ptr<Communicator> comm) { RunCells(*comm, cells); });
  }
}

TEST_P(TransportConformance, LargeCellsOfEveryFormDTypeAndReductionAreExact) {
  const std::vector<Cell> cells = SomeLargeCells();
  for (const int size : {2, 3, 4}) {
    RunRanks(size, [&](std::unique_ptr<Communicator> comm) { RunCells(*comm, cells); });
  }
}

TEST_P(TransportConformance, AllReduceGivesEveryRankTheSameBitsAlsoWhereRoundingDependsOnTheOrder) {
  RunRanks(3, [](std::unique_ptr<Communicator> comm) {
    std::vector<float> sum(10'007);
    for (size_t i = 0; i < sum.size(); ++i) {
      sum[i] = std::sin(static_cast<float>(i + 1) * static_cast<float>(comm->rank() + 1)) * 1e6F;
    }
    ABSL_ASSERT_OK(comm->AllReduce(View(sum), View(sum), ReduceOp::kAvg).Wait());
    std::vector<float> all(3 * sum.size());
    ABSL_ASSERT_OK(comm->AllGather(View(sum), View(all)).Wait());
    for (size_t i = 0; i < all.size(); ++i) ASSERT_EQ(all[i], sum[i % sum.size()]) << i;
  });
}

// What one thread would make of it, rank after rank.
TEST_P(TransportConformance, ReductionsAreInTheOrderOfTheRanksSoThatEveryTransportGivesTheSameBits) {
  const auto input = [](int rank, size_t i) {
    return std::sin(static_cast<float>(i + 1) * static_cast<float>(rank + 1)) * std::pow(10.0F, static_cast<float>(i % 7));
  };
  for (const size_t count : {size_t{100}, size_t{400'001}}) {
    RunRanks(4, [&](std::unique_ptr<Communicator> comm) {
      std::vector<float> in(count), out(count);
      for (size_t i = 0; i < count; ++i) in[i] = input(comm->rank(), i);
      ABSL_ASSERT_OK(comm->AllReduce(View(in), View(out), ReduceOp::kSum).Wait());
      for (size_t i = 0; i < count; ++i) {
        ASSERT_EQ(out[i], ((input(0, i) + input(1, i)) + input(2, i)) + input(3, i)) << i << " of " << count;
      }
    });
  }
}

TEST_P(TransportConformance, SixteenBitSumsRoundOnceOverAllRanks) {
  RunRanks(5, [](std::unique_ptr<Communicator> comm) {
    // 256 + 1 is 256 in bf16, 2048 + 1 is 2048 in f16: rounded at each step, the ones of four ranks would all be lost.
    for (const size_t count : {1, 50'001}) {
      std::vector<BFloat16> brain(count, ToBFloat16(comm->rank() == 0 ? 256 : 1));
      std::vector<Float16> half(count, ToFloat16(comm->rank() == 0 ? 2048 : 1));
      ABSL_ASSERT_OK(comm->AllReduce(View(brain), View(brain), ReduceOp::kSum).Wait());
      ABSL_ASSERT_OK(comm->AllReduce(View(half), View(half), ReduceOp::kSum).Wait());
      for (size_t i = 0; i < count; ++i) {
        ASSERT_EQ(ToFloat(brain[i]), 260);
        ASSERT_EQ(ToFloat(half[i]), 2052);
      }
    }
  });
}

TEST_P(TransportConformance, ANaNOfAnyRankIsOneInTheMinimumAndTheMaximumOfAll) {
  RunRanks(3, [](std::unique_ptr<Communicator> comm) {
    for (const ReduceOp op : {ReduceOp::kMin, ReduceOp::kMax}) {
      std::vector<float> values(3, 1);
      values[static_cast<size_t>(comm->rank())] = std::nanf("");
      ABSL_ASSERT_OK(comm->AllReduce(View(values), View(values), op).Wait());
      for (const float value : values) EXPECT_TRUE(std::isnan(value));
    }
  });
}

TEST_P(TransportConformance, MessagesKeepTheirOrderAndFindTheirTag) {
  RunRanks(3, [](std::unique_ptr<Communicator> comm) {
    const int next = (comm->rank() + 1) % 3, previous = (comm->rank() + 2) % 3;
    std::vector<int64_t> token = {comm->rank()}, other(1), big(200'000, comm->rank());
    // Around the ring: rank 0 sends first, the others receive first.
    for (int round = 0; round < 3; ++round) {
      const auto send = [&] { return comm->Send(View(token), next, 7 + round).Wait(); };
      const auto receive = [&] { return comm->Recv(View(other), previous, 7 + round).Wait(); };
      ABSL_ASSERT_OK(comm->rank() == 0 ? send() : receive());
      ABSL_ASSERT_OK(comm->rank() == 0 ? receive() : send());
      EXPECT_EQ(other[0], previous + 10 * round);
      token[0] += 10;
    }
    std::vector<int64_t> none;
    if (comm->rank() == 0) {
      ABSL_ASSERT_OK(comm->Send(View(big), 2, 0).Wait());
      ABSL_ASSERT_OK(comm->Send(View(none), 2, 0).Wait());
    } else if (comm->rank() == 2) {
      ABSL_ASSERT_OK(comm->Recv(View(big), 0, 0).Wait());
      ABSL_ASSERT_OK(comm->Recv(View(none), 0, 0).Wait());
      EXPECT_THAT(big, Each(0));
    }
    ABSL_ASSERT_OK(comm->Barrier().Wait());  // also after rank 1 took part in fewer operations
  });
}

TEST_P(TransportConformance, StringsOfAnyLengthAreBroadcastAndGathered) {
  RunRanks(3, [](std::unique_ptr<Communicator> comm) {
    const auto text_of = [](int rank) {
      return rank == 1 ? std::string() : std::string(static_cast<size_t>(rank * 40'000 + 3), 'x');
    };
    const std::string mine = text_of(comm->rank());
    for (int root = 0; root < 3; ++root) {
      ABSL_ASSERT_OK_AND_ASSIGN(const std::string text, BroadcastString(*comm, mine, root, {.name = "text"}));
      EXPECT_EQ(text, text_of(root));
      ABSL_ASSERT_OK_AND_ASSIGN(const std::vector<std::string> gathered, GatherStrings(*comm, mine, root));
      EXPECT_EQ(gathered.size(), comm->rank() == root ? 3u : 0u);
      for (size_t rank = 0; rank < gathered.size(); ++rank) EXPECT_EQ(gathered[rank], text_of(static_cast<int>(rank)));
    }
    ABSL_ASSERT_OK_AND_ASSIGN(const std::vector<std::string> all, AllGatherStrings(*comm, mine));
    EXPECT_THAT(all, ElementsAre(text_of(0), text_of(1), text_of(2)));
  });
}

TEST_P(TransportConformance, ProtobufMessagesAreBroadcastAndGathered) {
  RunRanks(3, [](std::unique_ptr<Communicator> comm) {
    google::protobuf::Int64Value mine;
    mine.set_value(comm->rank() * 100);
    ABSL_ASSERT_OK_AND_ASSIGN(const google::protobuf::Int64Value one, BroadcastProto(*comm, mine, 2));
    EXPECT_EQ(one.value(), 200);
    ABSL_ASSERT_OK_AND_ASSIGN(const std::vector<google::protobuf::Int64Value> all, AllGatherProtos(*comm, mine));
    ASSERT_EQ(all.size(), 3u);
    for (int rank = 0; rank < 3; ++rank) EXPECT_EQ(all[static_cast<size_t>(rank)].value(), rank * 100);
    ABSL_ASSERT_OK_AND_ASSIGN(const std::vector<google::protobuf::Int64Value> gathered, GatherProtos(*comm, mine, 1));
    EXPECT_EQ(gathered.size(), comm->rank() == 1 ? 3u : 0u);
    // What is no such message names its sender, and leaves the communicator in order.
    const bool spoils = comm->rank() == 1;
    const auto parsed = spoils ? absl::StatusOr<google::protobuf::Int64Value>(mine) : BroadcastProto(*comm, mine, 1);
    if (spoils) {
      ABSL_ASSERT_OK(BroadcastString(*comm, "\xff\xff", 1).status());
    } else {
      EXPECT_THAT(parsed.status(), absl_testing::StatusIs(absl::StatusCode::kDataLoss, ::testing::HasSubstr("rank 1")));
    }
    ABSL_ASSERT_OK(comm->Barrier().Wait());
  });
}

// Every rank sends before it receives, to all others, more than any socket holds; and reduces among it.
TEST_P(TransportConformance, OperationsOfAGroupStartTogether) {
  RunRanks(4, [](std::unique_ptr<Communicator> comm) {
    const int me = comm->rank(), size = comm->size();
    for (const size_t count : {size_t{1}, size_t{200'000}}) {
      std::vector<double> mine(count, me), sum(count, 1);
      std::vector<std::vector<double>> theirs(static_cast<size_t>(size), std::vector<double>(count, -1));
      std::vector<Work> works;
      {
        const OperationGroup together(*comm);
        for (int peer = 0; peer < size; ++peer) {
          if (peer != me) works.push_back(comm->Send(View(mine), peer, 5));
        }
        works.push_back(comm->AllReduce(View(sum), View(sum), ReduceOp::kSum));
        for (int peer = 0; peer < size; ++peer) {
          if (peer != me) works.push_back(comm->Recv(View(theirs[static_cast<size_t>(peer)]), peer, 5));
        }
        EXPECT_FALSE(works[0].Done());
        EXPECT_THAT(works[0].Wait(), absl_testing::StatusIs(absl::StatusCode::kFailedPrecondition));
        const OperationGroup inner(*comm);
        works.push_back(comm->Barrier());
      }
      for (const Work& work : works) ABSL_ASSERT_OK(work.Wait());
      EXPECT_THAT(sum, Each(size));
      for (int peer = 0; peer < size; ++peer) {
        if (peer == me) continue;
        EXPECT_THAT(theirs[static_cast<size_t>(peer)], Each(peer));
      }
    }
    { const OperationGroup empty(*comm); }
    ABSL_ASSERT_OK(comm->Barrier().Wait());
  });
}

TEST_P(TransportConformance, AGroupOfTooManyOperationsIsRefusedFromThereOn) {
  RunRanks(2, [](std::unique_ptr<Communicator> comm) {
    std::vector<Work> works;
    {
      const OperationGroup together(*comm);
      for (int i = 0; i < 1025; ++i) works.push_back(comm->Barrier());
    }
    EXPECT_THAT(works[1024].Wait(), absl_testing::StatusIs(absl::StatusCode::kInvalidArgument));
    ABSL_EXPECT_OK(works[1023].Wait());
  });
}

TEST_P(TransportConformance, OperationsStartedTogetherRunInOrder) {
  RunRanks(3, [](std::unique_ptr<Communicator> comm) {
    std::vector<int64_t> value = {comm->rank()};
    std::vector<Work> works;
    for (int i = 0; i < 100; ++i) works.push_back(comm->AllReduce(View(value), View(value), ReduceOp::kMax));
    for (int i = 0; i < 10; ++i) works.push_back(comm->AllReduce(View(value), View(value), ReduceOp::kSum));
    for (const Work& work : works) ABSL_ASSERT_OK(work.Wait());
    EXPECT_THAT(value, ElementsAre(2 * 59049));  // 3^10
  });
}

TEST_P(TransportConformance, ManyMoreOperationsThanAnyQueueHoldsMayBePending) {
  RunRanks(2, [](std::unique_ptr<Communicator> comm) {
    std::vector<int64_t> value = {1};
    Work last;
    for (int i = 0; i < 5'000; ++i) last = comm->AllReduce(View(value), View(value), ReduceOp::kMax);
    ABSL_ASSERT_OK(last.Wait());
    EXPECT_TRUE(last.Done());
    EXPECT_THAT(value, ElementsAre(1));
  });
}

}  // namespace
}  // namespace lockstep
