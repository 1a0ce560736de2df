#include "transports/float16.h"

#include <cmath>

namespace lockstep {
namespace {

constexpr uint32_t kFractionBits = 10;
constexpr int kBias = 15;
constexpr uint16_t kInfinity = 0x7c00;
constexpr uint16_t kNaN = 0x7e00;

uint32_t BitsOf(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}

}  // namespace

float ToFloat(Float16 value) {
  const int exponent = (value.bits >> kFractionBits) & 0x1f;
  const int fraction = value.bits & 0x3ff;
  const float sign = (value.bits & 0x8000) != 0 ? -1.0F : 1.0F;
  if (exponent == 0x1f) return fraction != 0 ? std::copysign(NAN, sign) : sign * INFINITY;
  const int whole = exponent == 0 ? fraction : fraction + (1 << kFractionBits);
  return sign *
         std::ldexp(static_cast<float>(whole), (exponent == 0 ? 1 : exponent) - kBias - static_cast<int>(kFractionBits));
}

Float16 ToFloat16(float value) {
  const uint16_t sign = static_cast<uint16_t>((BitsOf(value) >> 16) & 0x8000);
  if (std::isnan(value)) return {static_cast<uint16_t>(sign | kNaN)};
  const float magnitude = std::fabs(value);
  if (std::isinf(magnitude)) return {static_cast<uint16_t>(sign | kInfinity)};
  // The spacing of binary16 around it: of its power of two, or that of the subnormals.
  const int exponent = magnitude == 0 ? -kBias : std::ilogb(magnitude);
  const int spacing = (exponent < 1 - kBias ? 1 - kBias : exponent) - static_cast<int>(kFractionBits);
  const float steps = std::nearbyint(std::ldexp(magnitude, -spacing));  // exact, but for the rounding to even
  // Consecutive values have consecutive bits, across powers of two as well.
  const int power = spacing + static_cast<int>(kFractionBits) + kBias - 1;
  const int64_t bits = (static_cast<int64_t>(power) << kFractionBits) + static_cast<int64_t>(steps);
  return {static_cast<uint16_t>(sign | (bits < kInfinity ? static_cast<uint16_t>(bits) : kInfinity))};
}

BFloat16 ToBFloat16(float value) {
  const uint32_t bits = BitsOf(value);
  if (std::isnan(value)) return {static_cast<uint16_t>((bits >> 16) | 0x40)};
  const uint32_t rounding = 0x7fff + ((bits >> 16) & 1);
  return {static_cast<uint16_t>((bits + rounding) >> 16)};
}

}  // namespace lockstep
