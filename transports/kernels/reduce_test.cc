// Every cell of dtype x op, on every set of instructions that this processor has, against loops one element at a time.
#include "transports/kernels/reduce.h"

#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "hwy/targets.h"
#include "transports/dtype_dispatch.h"
#include "transports/float16.h"

namespace lockstep {
namespace {

using ::testing::ElementsAre;

// Runs each test with one set of instructions; the parameter is Highway's bit for it.
class ReduceOn : public testing::TestWithParam<int64_t> {
 protected:
  void SetUp() override { Use(GetParam()); }
  void TearDown() override { Use(0); }

 private:
  static void Use(int64_t targets) {
    hwy::SetSupportedTargetsForTest(targets);
    hwy::GetChosenTarget().DeInit();
  }
};
INSTANTIATE_TEST_SUITE_P(EachTarget, ReduceOn, testing::ValuesIn(hwy::SupportedAndGeneratedTargets()),
                         [](const auto& param) { return std::string(hwy::TargetName(param.param)); });

// --- The rules of reduce_op.h, one element at a time ---------------------------------------------------------------------

// What an element is computed in, one step at a time: floats of 16 bits in float, integers wide enough for any exact sum.
template <typename T>
using WideOf =
    std::conditional_t<std::is_integral<T>::value, __int128,
                       std::conditional_t<std::is_same<T, Float16>::value || std::is_same<T, BFloat16>::value, float, T>>;

template <typename T>
WideOf<T> Widen(T value) {
  if constexpr (std::is_same<T, bool>::value) {
    unsigned char byte;
    std::memcpy(&byte, &value, 1);
    return byte != 0 ? 1 : 0;
  } else if constexpr (std::is_arithmetic<T>::value) {
    return value;
  } else {
    return ToFloat(value);
  }
}
template <typename T>
T Narrow(WideOf<T> value) {
  if constexpr (std::is_same<T, Float16>::value) {
    return ToFloat16(value);
  } else if constexpr (std::is_same<T, BFloat16>::value) {
    return ToBFloat16(value);
  } else if constexpr (std::is_same<T, bool>::value) {
    return value != 0;
  } else if constexpr (std::is_integral<T>::value) {
    return static_cast<T>(static_cast<std::make_unsigned_t<T>>(value));
  } else {
    return value;
  }
}

template <typename Wide>
bool IsNan(Wide value) {
  if constexpr (std::is_floating_point<Wide>::value) return std::isnan(value);
  return false;
}

template <typename Wide>
Wide Combine(Wide a, Wide b, ReduceOp op) {
  if constexpr (!std::is_floating_point<Wide>::value) {
    if (op == ReduceOp::kBand) return a & b;
    if (op == ReduceOp::kBor) return a | b;
    if (op == ReduceOp::kBxor) return a ^ b;
  }
  switch (op) {
    case ReduceOp::kProduct:
      return static_cast<Wide>(a * b);
    case ReduceOp::kMin:
      return IsNan(a) || IsNan(b) ? static_cast<Wide>(a + b) : (b < a ? b : a);
    case ReduceOp::kMax:
      return IsNan(a) || IsNan(b) ? static_cast<Wide>(a + b) : (b > a ? b : a);
    default:
      return static_cast<Wide>(a + b);
  }
}

// Products wrap at each step, since four 64-bit factors exceed 128 bits.
template <typename T>
T Expected(const std::vector<std::vector<T>>& inputs, ReduceOp op, size_t i) {
  WideOf<T> result = Widen(inputs[0][i]);
  for (size_t k = 1; k < inputs.size(); ++k) {
    result = Combine(result, Widen(inputs[k][i]), op);
    if (op == ReduceOp::kProduct && std::is_integral<T>::value) result = Widen(Narrow<T>(result));
  }
  if (op == ReduceOp::kAvg) result = result / static_cast<WideOf<T>>(inputs.size());
  return Narrow<T>(result);
}

// --- Inputs --------------------------------------------------------------------------------------------------------------

template <typename T>
std::vector<T> Numbers(size_t count, uint32_t seed) {
  std::mt19937_64 random(seed);
  std::vector<T> numbers(count);
  for (T& number : numbers) {
    const uint64_t bits = random();
    if constexpr (std::is_integral<T>::value) {
      std::memcpy(&number, &bits, sizeof(T));  // any pattern, also of bool
    } else {
      const double value = (static_cast<double>(bits >> 11) / static_cast<double>(uint64_t{1} << 52) - 1) *
                           std::ldexp(1, static_cast<int>(bits % 24) - 12);
      number = Narrow<T>(static_cast<WideOf<T>>(value));
    }
  }
  return numbers;
}

template <typename T>
std::vector<const void*> Pointers(const std::vector<std::vector<T>>& inputs) {
  std::vector<const void*> pointers;
  for (const auto& input : inputs) pointers.push_back(input.data());
  return pointers;
}

// Equal bits, but that any NaN stands for any other.
template <typename T>
bool Same(T a, T b) {
  std::array<unsigned char, sizeof(T)> a_bytes, b_bytes;
  std::memcpy(a_bytes.data(), &a, sizeof(T));
  std::memcpy(b_bytes.data(), &b, sizeof(T));
  return a_bytes == b_bytes || (IsNan(Widen(a)) && IsNan(Widen(b)));
}

template <typename T>
std::string Cell(ReduceOp op, size_t n, size_t count, size_t i) {
  return std::string(ReduceOpName(op)) + " of " + std::string(DTypeName(kDTypeOf<T>)) + ", " + std::to_string(n) +
         " inputs of " + std::to_string(count) + ", element " + std::to_string(i);
}

// `shift` elements before the data, so that nothing is aligned to a vector; bool's inputs are bytes.
template <typename T>
void CheckCell(ReduceOp op, size_t n, size_t count, size_t shift) {
  using Stored = std::conditional_t<std::is_same<T, bool>::value, uint8_t, T>;
  std::vector<std::vector<Stored>> stored;
  std::vector<const void*> pointers;
  for (size_t k = 0; k < n; ++k) stored.push_back(Numbers<Stored>(count + shift, static_cast<uint32_t>(k + 1)));
  if constexpr (std::is_same<T, bool>::value) {
    for (auto& input : stored) {
      for (auto& byte : input) byte = byte % 3;  // 0 often enough
    }
  }
  for (const auto& input : stored) pointers.push_back(input.data() + shift);
  std::vector<Stored> out(count + shift + 1, Stored{});
  const Stored after = Numbers<Stored>(1, 99)[0];
  out.back() = after;
  Reduce(pointers, op, Buffer{out.data() + shift, static_cast<int64_t>(count), kDTypeOf<T>, Device()});
  ASSERT_TRUE(Same(out.back(), after)) << "wrote beyond the end: " << Cell<T>(op, n, count, count);
  for (size_t i = 0; i < count; ++i) {
    std::vector<std::vector<Stored>> at(n);
    for (size_t k = 0; k < n; ++k) at[k].push_back(stored[k][i + shift]);
    Stored expected;
    if constexpr (std::is_same<T, bool>::value) {
      int trues = 0;
      for (const auto& input : at) trues += input[0] != 0 ? 1 : 0;
      const bool all = op == ReduceOp::kProduct || op == ReduceOp::kMin || op == ReduceOp::kBand;
      expected = op == ReduceOp::kBxor ? trues % 2 : all ? trues == static_cast<int>(n) : trues > 0;
    } else {
      expected = Expected(at, op, 0);
    }
    ASSERT_TRUE(Same(out[i + shift], expected)) << Cell<T>(op, n, count, i);
  }
  // In place of each input in turn.
  for (size_t k = 0; k < n; ++k) {
    std::vector<Stored> in_place = stored[k];
    std::vector<const void*> others = pointers;
    others[k] = in_place.data() + shift;
    Reduce(others, op, Buffer{in_place.data() + shift, static_cast<int64_t>(count), kDTypeOf<T>, Device()});
    for (size_t i = shift; i < count + shift; ++i) {
      ASSERT_TRUE(Same(in_place[i], out[i])) << "in place of input " << k << ": " << Cell<T>(op, n, count, i - shift);
    }
  }
}

TEST_P(ReduceOn, EveryOpThatIsDefinedEqualsTheLoopAtEveryLengthAndAlignment) {
  int cells = 0;
  for (int dtype = 0; dtype < kNumDTypes; ++dtype) {
    for (int op = 0; op < kNumReduceOps; ++op) {
      if (!CheckReduction(static_cast<DType>(dtype), static_cast<ReduceOp>(op)).ok()) continue;
      ++cells;
      WithDType(static_cast<DType>(dtype), [&](auto type) {
        using T = typename decltype(type)::type;
        for (const size_t n : {1, 2, 3, 5}) {
          for (const size_t count : {0, 1, 2, 3, 7, 8, 15, 17, 31, 33, 67, 131, 1000}) {
            CheckCell<T>(static_cast<ReduceOp>(op), n, count, count % 4);
          }
        }
      });
    }
  }
  EXPECT_EQ(cells, 4 * 6 + 5 * 8 + 7);  // floats, integers, bool
}

// --- 16 bits ---------------------------------------------------------------------------------------------------------------

template <typename T>
void CheckSumsOfEveryPattern() {
  std::vector<T> every(0x10000);
  for (size_t bits = 0; bits < every.size(); ++bits) every[bits].bits = static_cast<uint16_t>(bits);
  std::vector<uint16_t> others = {0,      1,      0x8001, 0x03ff, 0x0400, 0x3c00, 0xbc01,
                                  0x7bff, 0xfbff, 0x7c00, 0x7f7f, 0xff7f, 0x7e01};
  std::mt19937 random(5);
  for (int i = 0; i < 50; ++i) others.push_back(static_cast<uint16_t>(random()));
  for (const uint16_t other : others) {
    const std::vector<std::vector<T>> inputs = {every, std::vector<T>(every.size(), T{other})};
    std::vector<T> out(every.size());
    const Buffer to{out.data(), static_cast<int64_t>(out.size()), kDTypeOf<T>, Device()};
    Reduce(Pointers(inputs), ReduceOp::kSum, to);
    for (size_t i = 0; i < out.size(); ++i)
      ASSERT_TRUE(Same(out[i], Expected(inputs, ReduceOp::kSum, i))) << i << " + " << other;
  }
}

TEST_P(ReduceOn, ConvertsSixteenBitsAsFloat16DoesForEveryPattern) {
  CheckSumsOfEveryPattern<Float16>();
  CheckSumsOfEveryPattern<BFloat16>();
}

TEST_P(ReduceOn, SixteenBitSumsRoundOnceOverAllInputs) {
  // 256 + 1 rounds to 256 in bf16, where 4 ones added one at a time would all be lost.
  const std::vector<std::vector<BFloat16>> inputs = {
      {ToBFloat16(256)}, {ToBFloat16(1)}, {ToBFloat16(1)}, {ToBFloat16(1)}, {ToBFloat16(1)}};
  std::vector<BFloat16> out(1);
  Reduce(Pointers(inputs), ReduceOp::kSum, Buffer{out.data(), 1, DType::kBF16, Device()});
  EXPECT_EQ(ToFloat(out[0]), 260);
}

// --- Rules of their own ------------------------------------------------------------------------------------------------------

TEST_P(ReduceOn, ANaNAnywhereGivesNaNInMinAndMaxAndTheFirstOfTwoZerosStays) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<std::vector<float>> inputs = {{nan, 1, 1, 0.0F, -0.0F}, {1, nan, 1, -0.0F, 0.0F}, {1, 1, nan, 1, 1}};
  std::vector<float> out(5);
  for (const ReduceOp op : {ReduceOp::kMin, ReduceOp::kMax}) {
    Reduce(Pointers(inputs), op, MakeBuffer(absl::MakeSpan(out)));
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(std::isnan(out[i]));
  }
  const std::vector<std::vector<float>> zeros = {{0.0F, -0.0F}, {-0.0F, 0.0F}};
  for (const ReduceOp op : {ReduceOp::kMin, ReduceOp::kMax}) {
    std::vector<float> zero(2);
    Reduce(Pointers(zeros), op, MakeBuffer(absl::MakeSpan(zero)));
    EXPECT_FALSE(std::signbit(zero[0]));
    EXPECT_TRUE(std::signbit(zero[1]));
  }
}

TEST_P(ReduceOn, AveragesOfIntegersAreExactAndRoundTowardZero) {
  std::vector<int8_t> bytes(3);
  Reduce(Pointers<int8_t>({{127, -128, -1}, {127, -128, 0}, {126, -127, 0}}), ReduceOp::kAvg,
         MakeBuffer(absl::MakeSpan(bytes)));
  EXPECT_THAT(bytes, ElementsAre(126, -127, 0));
  const uint64_t most = std::numeric_limits<uint64_t>::max();
  std::vector<uint64_t> words(1);
  Reduce(Pointers<uint64_t>({{most}, {most - 1}}), ReduceOp::kAvg, MakeBuffer(absl::MakeSpan(words)));
  EXPECT_THAT(words, ElementsAre(most - 1));
}

template <typename T>
void CheckPremultiplied() {
  const std::vector<std::vector<T>> inputs = {Numbers<T>(101, 1), Numbers<T>(101, 2), Numbers<T>(101, 3)};
  const std::vector<double> factors = {0.1, -3, 1.0 / 7};
  std::vector<T> out(101);
  const Buffer to{out.data(), 101, kDTypeOf<T>, Device()};
  std::vector<std::vector<T>> products = inputs;
  for (size_t k = 0; k < inputs.size(); ++k) {
    for (T& x : products[k]) x = Narrow<T>(Widen(x) * static_cast<WideOf<T>>(factors[k]));
    Scale(ConstBuffer(inputs[k].data(), 101, kDTypeOf<T>), factors[k], to);
    for (size_t i = 0; i < out.size(); ++i) ASSERT_TRUE(Same(out[i], products[k][i])) << "scaled " << i;
  }
  ReducePremultiplied(Pointers(inputs), factors, to);
  for (size_t i = 0; i < out.size(); ++i) ASSERT_TRUE(Same(out[i], Expected(products, ReduceOp::kSum, i))) << "summed " << i;
}

TEST_P(ReduceOn, ProductsOfAPremultipliedSumAreRoundedBeforeTheyAreAdded) {
  CheckPremultiplied<float>();
  CheckPremultiplied<double>();
  CheckPremultiplied<Float16>();
  CheckPremultiplied<BFloat16>();
}

}  // namespace
}  // namespace lockstep
