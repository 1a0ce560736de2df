// Every cell of dtype x op, against scalar loops written with wider types.
#include "transports/kernels/reduce.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

template <typename T>
class ReduceTyped : public testing::Test {};
using Types = testing::Types<float, double, int32_t, int64_t, uint8_t>;
TYPED_TEST_SUITE(ReduceTyped, Types);

// Small whole numbers: every sum and product of two is exact in every type but u8, which wraps.
template <typename T>
std::vector<T> Numbers(int64_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<T> numbers;
  for (int64_t i = 0; i < count; ++i)
    numbers.push_back(static_cast<T>(static_cast<int>(random() % 256) - (std::is_signed<T>::value ? 128 : 0)));
  return numbers;
}

template <typename T>
T Expected(ReduceOp op, T a, T b) {
  const int64_t x = static_cast<int64_t>(a), y = static_cast<int64_t>(b);
  switch (op) {
    case ReduceOp::kProduct:
      return static_cast<T>(x * y);
    case ReduceOp::kMin:
      return static_cast<T>(std::min(x, y));
    case ReduceOp::kMax:
      return static_cast<T>(std::max(x, y));
    case ReduceOp::kBand:
      return static_cast<T>(x & y);
    case ReduceOp::kBor:
      return static_cast<T>(x | y);
    case ReduceOp::kBxor:
      return static_cast<T>(x ^ y);
    default:
      return static_cast<T>(x + y);
  }
}

TYPED_TEST(ReduceTyped, EveryOpThatIsDefinedEqualsTheScalarLoopAtEveryLength) {
  int cells = 0;
  for (int o = 0; o < kNumReduceOps; ++o) {
    const ReduceOp op = static_cast<ReduceOp>(o);
    if (!CheckReduction(kDTypeOf<TypeParam>, op).ok()) continue;
    ++cells;
    for (const int64_t count : {0, 1, 2, 3, 7, 8, 15, 16, 17, 31, 33, 1000}) {
      std::vector<TypeParam> a = Numbers<TypeParam>(count, 1), b = Numbers<TypeParam>(count, 2), before = a;
      ReduceInto(MakeBuffer(absl::MakeSpan(a)), MakeConstBuffer(absl::MakeConstSpan(b)), op);
      for (int64_t i = 0; i < count; ++i) {
        ASSERT_EQ(a[i], Expected(op, before[i], b[i])) << ReduceOpName(op) << " at " << i << " of " << count;
      }
    }
  }
  EXPECT_EQ(cells, std::is_integral<TypeParam>::value ? 8 : 6);
}

TYPED_TEST(ReduceTyped, DivisionRoundsIntegersTowardZero) {
  std::vector<TypeParam> a = Numbers<TypeParam>(100, 3), before = a;
  DivideByRanks(MakeBuffer(absl::MakeSpan(a)), 3);
  for (size_t i = 0; i < a.size(); ++i) {
    const double exact = static_cast<double>(before[i]) / 3;
    const TypeParam expected = std::is_integral<TypeParam>::value ? static_cast<TypeParam>(std::trunc(exact))
                                                                  : static_cast<TypeParam>(before[i] / TypeParam{3});
    EXPECT_EQ(a[i], expected) << before[i];
  }
}

TYPED_TEST(ReduceTyped, IntegerSumsAndProductsWrap) {
  if (!std::is_integral<TypeParam>::value) return;
  const TypeParam most = std::numeric_limits<TypeParam>::max(), least = std::numeric_limits<TypeParam>::min();
  std::vector<TypeParam> a = {most, most}, one = {1, 1};
  ReduceInto(MakeBuffer(absl::MakeSpan(a)), MakeConstBuffer(absl::MakeConstSpan(one)), ReduceOp::kSum);
  EXPECT_THAT(a, testing::Each(least));
  std::vector<TypeParam> b = {most}, two = {2};
  ReduceInto(MakeBuffer(absl::MakeSpan(b)), MakeConstBuffer(absl::MakeConstSpan(two)), ReduceOp::kProduct);
  EXPECT_EQ(b[0], static_cast<TypeParam>(-2));
}

TEST(Reduce, ANaNOnEitherSideGivesNaNInMinAndMax) {
  const double nan = std::nan("");
  for (const ReduceOp op : {ReduceOp::kMin, ReduceOp::kMax}) {
    std::vector<double> a = {nan, 1, nan, 2}, b = {1, nan, nan, 3};
    ReduceInto(MakeBuffer(absl::MakeSpan(a)), MakeConstBuffer(absl::MakeConstSpan(b)), op);
    EXPECT_TRUE(std::isnan(a[0]) && std::isnan(a[1]) && std::isnan(a[2]));
    EXPECT_EQ(a[3], op == ReduceOp::kMin ? 2 : 3);
  }
}

TEST(Reduce, ScaleRoundsInTheElementsOwnPrecision) {
  std::vector<float> a = {1, -3, 0.1f}, out(3);
  Scale(MakeConstBuffer(absl::MakeConstSpan(a)), MakeBuffer(absl::MakeSpan(out)), 0.1);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(out[i], a[i] * 0.1f);
  Scale(MakeBuffer(absl::MakeSpan(a)), MakeBuffer(absl::MakeSpan(a)), 2);
  EXPECT_THAT(a, testing::ElementsAre(2, -6, 0.2f));
}

}  // namespace
}  // namespace lockstep
