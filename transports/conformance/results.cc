// What operations compute, for every dtype, op, size and number of ranks, against loops in float64.
//
// Inputs are small integers, so that sums and products are exact in every type and in every order of the ranks.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <vector>

#include "absl/status/status_matchers.h"
#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "transports/conformance/conformance.h"

namespace lockstep {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

// 300,007 elements of 4 bytes are more than one of a ring's segments (1 MiB in Gloo), and no multiple of 2, 3 or 4 ranks.
constexpr int64_t kCounts[] = {0, 1, 3, 1000, 300'007};
constexpr double kPremultiplier = 0.5;

template <typename T>
Buffer View(std::vector<T>& v) {
  return MakeBuffer(absl::MakeSpan(v));
}

// What rank `rank` contributes at `index`: 0 to 5.
int64_t Input(int rank, int64_t index) { return (rank * 7 + index * 3) % 6; }

double Combine(double a, double b, ReduceOp op) {
  const auto x = static_cast<int64_t>(a), y = static_cast<int64_t>(b);
  switch (op) {
    case ReduceOp::kProduct:
      return a * b;
    case ReduceOp::kMin:
      return std::min(a, b);
    case ReduceOp::kMax:
      return std::max(a, b);
    case ReduceOp::kBand:
      return static_cast<double>(x & y);
    case ReduceOp::kBor:
      return static_cast<double>(x | y);
    case ReduceOp::kBxor:
      return static_cast<double>(x ^ y);
    default:
      return a + b;
  }
}

double Reference(int size, int64_t index, ReduceOp op, bool integer) {
  const double factor = op == ReduceOp::kPremulSum ? kPremultiplier : 1;
  double result = factor * static_cast<double>(Input(0, index));
  for (int rank = 1; rank < size; ++rank) result = Combine(result, factor * static_cast<double>(Input(rank, index)), op);
  if (op == ReduceOp::kAvg) result = integer ? std::trunc(result / size) : result / size;
  return result;
}

template <typename T>
void ExpectReduced(const std::vector<T>& out, int size, ReduceOp op) {
  for (int64_t i = 0; i < static_cast<int64_t>(out.size()); ++i) {
    // An average is the one result that need not be exact in f32.
    const double expected = static_cast<double>(static_cast<T>(Reference(size, i, op, !std::is_floating_point_v<T>)));
    ASSERT_EQ(static_cast<double>(out[i]), expected) << "element " << i << " of " << out.size() << ", " << ReduceOpName(op);
  }
}

template <typename T>
void CheckAllReduce(Communicator& comm, ReduceOp op, int64_t count) {
  std::vector<T> in(count), out(count, T{77});
  for (int64_t i = 0; i < count; ++i) in[i] = static_cast<T>(Input(comm.rank(), i));
  const std::vector<T> before = in;
  const CallOptions options = {.premultiplier = kPremultiplier};
  ABSL_ASSERT_OK(comm.AllReduce(View(in), View(out), op, options).Wait());
  ExpectReduced(out, comm.size(), op);
  ASSERT_EQ(in, before);
  ABSL_ASSERT_OK(comm.AllReduce(View(in), View(in), op, options).Wait());
  ASSERT_EQ(in, out) << "in place";
}

template <typename T>
void CheckAllReduces(Communicator& comm) {
  for (int op = 0; op < kNumReduceOps; ++op) {
    if (!CheckReduction(kDTypeOf<T>, static_cast<ReduceOp>(op)).ok()) continue;
    for (const int64_t count : kCounts) CheckAllReduce<T>(comm, static_cast<ReduceOp>(op), count);
  }
}

TEST_P(TransportConformance, AllReduceEqualsAFloat64LoopForEveryDTypeOpAndCountOnOneToFourRanks) {
  for (int size = 1; size <= 4; ++size) {
    RunRanks(size, [](std::unique_ptr<Communicator> comm) {
      CheckAllReduces<float>(*comm);
      CheckAllReduces<double>(*comm);
      CheckAllReduces<int32_t>(*comm);
      CheckAllReduces<int64_t>(*comm);
      CheckAllReduces<uint8_t>(*comm);
    });
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

template <typename T>
void CheckMoves(Communicator& comm) {
  for (const int64_t count : kCounts) {
    for (int root = 0; root < comm.size(); ++root) {
      std::vector<T> data(count);
      for (int64_t i = 0; i < count; ++i) data[i] = static_cast<T>(Input(comm.rank(), i));
      ABSL_ASSERT_OK(comm.Broadcast(View(data), root).Wait());
      for (int64_t i = 0; i < count; ++i) ASSERT_EQ(data[i], static_cast<T>(Input(root, i)));
    }
    std::vector<T> own(count), all(count * comm.size());
    for (int64_t i = 0; i < count; ++i) own[i] = static_cast<T>(Input(comm.rank(), i));
    ABSL_ASSERT_OK(comm.AllGather(View(own), View(all)).Wait());
    for (int64_t i = 0; i < count * comm.size(); ++i) {
      ASSERT_EQ(all[i], static_cast<T>(Input(static_cast<int>(i / count), i % count)));
    }
    const std::vector<T> expected = all;
    const Buffer whole = View(all);
    const Buffer part{static_cast<T*>(whole.data) + comm.rank() * count, count, whole.dtype, whole.device};
    ABSL_ASSERT_OK(comm.AllGather(part, whole).Wait());
    ASSERT_EQ(all, expected) << "from its own part of the output";
  }
}

TEST_P(TransportConformance, BroadcastFromEachRootAndAllGatherMoveEveryByte) {
  for (int size = 1; size <= 4; ++size) {
    RunRanks(size, [](std::unique_ptr<Communicator> comm) {
      CheckMoves<uint8_t>(*comm);
      CheckMoves<float>(*comm);
      CheckMoves<int64_t>(*comm);
    });
  }
}

TEST_P(TransportConformance, DTypesWithoutReductionsMoveToo) {
  RunRanks(2, [](std::unique_ptr<Communicator> comm) {
    for (const DType dtype : {DType::kF16, DType::kBF16, DType::kBool, DType::kI8, DType::kU64}) {
      std::vector<uint8_t> bytes(80, static_cast<uint8_t>(comm->rank() + 1));
      const Buffer buffer{bytes.data(), 80 / SizeOf(dtype), dtype, Device()};
      ABSL_ASSERT_OK(comm->Broadcast(buffer, 1).Wait());
      EXPECT_THAT(bytes, Each(2)) << DTypeName(dtype);
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
