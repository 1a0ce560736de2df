// Conversions, against arithmetic in double.
#include "transports/float16.h"

#include <cmath>
#include <cstdint>
#include <limits>

#include "gtest/gtest.h"

namespace lockstep {
namespace {

// Bits of a format with `exponent_bits` and `fraction_bits`, by the definition of IEEE 754.
double ValueOf(uint16_t bits, int exponent_bits, int fraction_bits) {
  const int exponent = (bits >> fraction_bits) & ((1 << exponent_bits) - 1);
  const int fraction = bits & ((1 << fraction_bits) - 1);
  const double sign = (bits & 0x8000) != 0 ? -1 : 1;
  const int bias = (1 << (exponent_bits - 1)) - 1;
  if (exponent == (1 << exponent_bits) - 1) return fraction != 0 ? std::nan("") : sign * HUGE_VAL;
  const double significand = std::ldexp(fraction, -fraction_bits) + (exponent == 0 ? 0 : 1);
  return sign * std::ldexp(significand, (exponent == 0 ? 1 : exponent) - bias);
}

struct Binary16 {
  using type = Float16;
  static constexpr int kExponentBits = 5, kFractionBits = 10;
  static Float16 From(float value) { return ToFloat16(value); }
};
struct Brain16 {
  using type = BFloat16;
  static constexpr int kExponentBits = 8, kFractionBits = 7;
  static BFloat16 From(float value) { return ToBFloat16(value); }
};

template <typename Format>
class Float16Conversion : public testing::Test {
 protected:
  static double Value(int bits) {
    return ValueOf(static_cast<uint16_t>(bits), Format::kExponentBits, Format::kFractionBits);
  }
};
using Formats = testing::Types<Binary16, Brain16>;
TYPED_TEST_SUITE(Float16Conversion, Formats);

TYPED_TEST(Float16Conversion, EveryPatternIsTheNumberItStandsForAndComesBack) {
  for (int bits = 0; bits <= 0xffff; ++bits) {
    const typename TypeParam::type element{static_cast<uint16_t>(bits)};
    const float value = ToFloat(element);
    if (std::isnan(this->Value(bits))) {
      ASSERT_TRUE(std::isnan(value)) << bits;
      ASSERT_TRUE(std::isnan(ToFloat(TypeParam::From(value)))) << bits;
      continue;
    }
    ASSERT_EQ(static_cast<double>(value), this->Value(bits)) << bits;
    ASSERT_EQ(std::signbit(value), (bits & 0x8000) != 0) << bits;
    ASSERT_EQ(TypeParam::From(value).bits, bits);
  }
}

TYPED_TEST(Float16Conversion, WhatLiesBetweenTwoRoundsToTheNearerAndInTheMiddleToTheEven) {
  // Up to the middle between the largest and infinity, which counts as the power of two that would come next.
  const int infinity = ((1 << TypeParam::kExponentBits) - 1) << TypeParam::kFractionBits;
  for (int bits = 0; bits < infinity; ++bits) {
    const double below = this->Value(bits);
    const double above = bits + 1 < infinity ? this->Value(bits + 1) : 2 * this->Value(bits) - this->Value(bits - 1);
    const float middle = static_cast<float>((below + above) / 2);
    ASSERT_EQ(static_cast<double>(middle), (below + above) / 2) << "a float holds it exactly";
    ASSERT_EQ(TypeParam::From(middle).bits, bits + bits % 2) << bits;
    ASSERT_EQ(TypeParam::From(std::nextafter(middle, 0.0F)).bits, bits);
    ASSERT_EQ(TypeParam::From(std::nextafter(middle, HUGE_VALF)).bits, bits + 1);
    ASSERT_EQ(TypeParam::From(-middle).bits, 0x8000 | (bits + bits % 2)) << bits;
  }
  EXPECT_EQ(TypeParam::From(std::numeric_limits<float>::max()).bits, infinity);
  EXPECT_EQ(TypeParam::From(-HUGE_VALF).bits, 0x8000 | infinity);
}

}  // namespace
}  // namespace lockstep
