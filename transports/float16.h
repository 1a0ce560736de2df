// The 16-bit floating-point element types, which C++17 has no names for: storage, and conversion one at a time.
//
//   BFloat16 half = ToBFloat16(0.1f);      float back = ToFloat(half);
//
// For references, tests and single values; //transports/kernels converts many at once, to the same bits.
#ifndef LOCKSTEP_TRANSPORTS_FLOAT16_H_
#define LOCKSTEP_TRANSPORTS_FLOAT16_H_

#include <cstdint>
#include <cstring>

namespace lockstep {

// IEEE 754 binary16: 1 sign, 5 exponent and 10 fraction bits; 65504 at most.
struct Float16 {
  uint16_t bits = 0;
};
// The upper half of a float: 1 sign, 8 exponent and 7 fraction bits.
struct BFloat16 {
  uint16_t bits = 0;
};

// Exact.
float ToFloat(Float16 value);
inline float ToFloat(BFloat16 value) {
  const uint32_t bits = uint32_t{value.bits} << 16;
  float result;
  std::memcpy(&result, &bits, sizeof(result));
  return result;
}

// The nearest value, of two equally near ones the even; beyond the largest, infinity. A NaN stays one.
Float16 ToFloat16(float value);
BFloat16 ToBFloat16(float value);

}  // namespace lockstep

#endif  // LOCKSTEP_TRANSPORTS_FLOAT16_H_
