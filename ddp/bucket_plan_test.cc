#include "ddp/bucket_plan.h"

#include <random>
#include <set>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

using ::testing::ElementsAre;

// A measured result of PyTorch's _compute_bucket_assignment_by_size: tensors of f32 unless said.
struct Vector {
  std::string name;
  std::vector<BucketCandidate> tensors;
  std::vector<int64_t> limits;
  std::vector<int> order;
  std::vector<std::vector<int>> buckets;
  std::vector<int64_t> bucket_limits;
};

BucketCandidate F32(int64_t elements) { return {elements * 4, DType::kF32, Device(), false}; }
BucketCandidate F64(int64_t elements) { return {elements * 8, DType::kF64, Device(), false}; }
BucketCandidate Sparse(int64_t elements) { return {elements * 4, DType::kF32, Device(), true}; }

std::vector<Vector> MeasuredVectors() {
  const std::vector<BucketCandidate> two_dtypes = {F32(50), F64(25), F32(50), F64(25), F32(50), F64(25)};
  return {
      {"OneLimit", {F32(100), F32(200), F32(100), F32(50)}, {400}, {}, {{0}, {1}, {2}, {3}}, {400, 400, 400, 400}},
      {"TwoLimits", {F32(50), F32(25), F32(50), F32(25), F32(100)}, {200, 400}, {}, {{0}, {1, 2, 3}, {4}}, {200, 400, 400}},
      {"TwoDTypesTwoLimits", two_dtypes, {200, 400}, {}, {{0}, {1}, {2, 4}, {3, 5}}, {200, 200, 400, 400}},
      {"TwoDTypesOneLimit", two_dtypes, {200}, {}, {{0}, {1}, {2}, {3}, {4}, {5}}, {200, 200, 200, 200, 200, 200}},
      {"ManySmall",
       {F32(10), F32(10), F32(10), F32(10), F32(10), F32(10)},
       {40, 80},
       {},
       {{0}, {1, 2}, {3, 4}, {5}},
       {40, 80, 80, 80}},
      {"ExplicitOrder", {F32(10), F32(10), F32(10), F32(10)}, {40, 80}, {3, 2, 1, 0}, {{3}, {2, 1}, {0}}, {40, 80, 80}},
      {"SparseIsAlone", {F32(10), Sparse(10), F32(10), F32(10)}, {80}, {}, {{0, 2}, {1}, {3}}, {80, 0, 80}},
      {"EmptyTensors", {F32(0), F32(10), F32(0), F32(10)}, {40}, {}, {{0, 1}, {2, 3}}, {40, 40}},
      {"NoLimit", {F32(10), F32(10), F32(10)}, {kNoBucketLimit}, {}, {{0, 1, 2}}, {kNoBucketLimit}},
  };
}

class AssignBucketsTest : public testing::TestWithParam<Vector> {};

TEST_P(AssignBucketsTest, GivesWhatPyTorchGives) {
  const Vector& v = GetParam();
  std::vector<std::vector<int>> buckets;
  std::vector<int64_t> limits;
  for (const BucketAssignment& bucket : AssignBuckets(v.tensors, v.limits, v.order)) {
    buckets.push_back(bucket.members);
    limits.push_back(bucket.limit);
  }
  EXPECT_EQ(buckets, v.buckets);
  EXPECT_EQ(limits, v.bucket_limits);
}

INSTANTIATE_TEST_SUITE_P(Measured, AssignBucketsTest, testing::ValuesIn(MeasuredVectors()),
                         [](const auto& vector) { return vector.param.name; });

ParameterInfo Parameter(std::string name, std::vector<int64_t> shape, DType dtype = DType::kF32, bool requires_grad = true) {
  return {std::move(name), std::move(shape), dtype, Device(), requires_grad};
}

std::vector<int> Members(const Bucket& bucket) {
  std::vector<int> members;
  for (const BucketSlot& slot : bucket.slots) members.push_back(slot.parameter);
  return members;
}

TEST(BucketPlan, StartsWithTheLastParametersInASmallBucket) {
  // Four layers of 300 x 300 with bias: the plan that PyTorch reaches after its first step for this model.
  std::vector<ParameterInfo> parameters;
  for (int i = 0; i < 4; ++i) {
    parameters.push_back(Parameter("weight", {300, 300}));
    parameters.push_back(Parameter("bias", {300}));
  }
  const BucketPlan plan = MakeBucketPlan(parameters, 1 << 20, 25 << 20, /*tail_count=*/0);
  ASSERT_EQ(plan.buckets.size(), 2);
  EXPECT_THAT(Members(plan.buckets[0]), ElementsAre(7, 6, 5, 4, 3, 2));
  EXPECT_THAT(Members(plan.buckets[1]), ElementsAre(1, 0));
}

TEST(BucketPlan, HalfAMebibyteGivesTwoBucketsOfTwoLayers) {
  std::vector<ParameterInfo> parameters;
  for (int i = 0; i < 4; ++i) {
    parameters.push_back(Parameter("weight", {300, 300}));
    parameters.push_back(Parameter("bias", {300}));
  }
  const BucketPlan plan = MakeBucketPlan(parameters, 1 << 19, 1 << 19, 0);
  ASSERT_EQ(plan.buckets.size(), 2);
  EXPECT_THAT(Members(plan.buckets[0]), ElementsAre(7, 6, 5, 4));
  EXPECT_THAT(Members(plan.buckets[1]), ElementsAre(3, 2, 1, 0));
}

TEST(BucketPlan, LeavesFrozenParametersOut) {
  const std::vector<ParameterInfo> parameters = {Parameter("a", {4}), Parameter("b", {4}, DType::kF32, false),
                                                 Parameter("c", {4})};
  const BucketPlan plan = MakeBucketPlan(parameters, 1 << 20, 1 << 20, 0);
  ASSERT_EQ(plan.buckets.size(), 1);
  EXPECT_THAT(Members(plan.buckets[0]), ElementsAre(2, 0));
}

TEST(BucketPlan, OrdersBucketsOfSeveralDTypesByTheirLastMember) {
  // The f64 bucket never fills, but is complete as soon as parameter 3 is; the f32 one waits for parameter 0.
  const std::vector<ParameterInfo> parameters = {Parameter("a", {8}), Parameter("b", {8}), Parameter("c", {8}),
                                                 Parameter("d", {8}, DType::kF64)};
  const BucketPlan plan = MakeBucketPlan(parameters, 1 << 20, 1 << 20, 0);
  ASSERT_EQ(plan.buckets.size(), 2);
  EXPECT_EQ(plan.buckets[0].dtype, DType::kF64);
  EXPECT_THAT(Members(plan.buckets[1]), ElementsAre(2, 1, 0));
}

TEST(BucketPlan, PutsTheTailBehindTheLastBucketsGradients) {
  const std::vector<ParameterInfo> parameters = {Parameter("a", {3}), Parameter("b", {5})};
  const BucketPlan plan = MakeBucketPlan(parameters, 1, 1, /*tail_count=*/4);
  ASSERT_EQ(plan.buckets.size(), 2);
  EXPECT_EQ(plan.tail_offset, 3);
  EXPECT_EQ(plan.buckets[0].count, 5);
  EXPECT_EQ(plan.buckets[1].count, 7);
}

TEST(BucketPlan, EveryParameterAppearsExactlyOnceForAThousandRandomModels) {
  const uint32_t seed = std::random_device()();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 1000; ++round) {
    std::vector<ParameterInfo> parameters = {Parameter("first", {1})};
    for (uint32_t i = 0, n = random() % 40; i < n; ++i) {
      parameters.push_back(Parameter("p", {static_cast<int64_t>(random() % 3000)}, random() % 4 ? DType::kF32 : DType::kF64,
                                     random() % 5 != 0));
    }
    const BucketPlan plan = MakeBucketPlan(parameters, 1 + random() % 4096, 1 + random() % 16384, /*tail_count=*/3);
    std::multiset<int> seen;
    int64_t arena_end = 0;
    for (const Bucket& bucket : plan.buckets) {
      EXPECT_GE(bucket.arena_offset, arena_end) << "buckets overlap";
      arena_end = bucket.arena_offset + bucket.count * SizeOf(bucket.dtype);
      int64_t end = 0;
      for (const BucketSlot& slot : bucket.slots) {
        EXPECT_GE(slot.offset, end) << "slots overlap";
        EXPECT_EQ(slot.count, ElementCount(parameters[slot.parameter].shape));
        EXPECT_EQ(parameters[slot.parameter].dtype, bucket.dtype);
        end = slot.offset + slot.count;
        seen.insert(slot.parameter);
      }
      EXPECT_LE(end, bucket.count);
    }
    EXPECT_LE(arena_end, plan.arena_bytes);
    for (int i = 0; i < static_cast<int>(parameters.size()); ++i) {
      ASSERT_EQ(seen.count(i), parameters[i].requires_grad ? 1u : 0u) << "parameter " << i << " of round " << round;
    }
  }
}

}  // namespace
}  // namespace lockstep
