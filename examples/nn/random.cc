#include "examples/nn/random.h"

namespace nn {

uint64_t Random::Next() {
  state_ += 0x9E3779B97F4A7C15;
  uint64_t z = state_;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return z ^ (z >> 31);
}

uint64_t Random::Below(uint64_t n) {
  const uint64_t rejected = (0 - n) % n;  // 2^64 mod n
  while (true) {
    const uint64_t bits = Next();
    if (bits >= rejected) return bits % n;
  }
}

double Random::Uniform(double bound) {
  const int64_t odd = static_cast<int64_t>(Next() >> 11) * 2 + 1 - (int64_t{1} << 53);  // both ends are below 2^53: exact
  constexpr double kUnit = 1.0 / 9007199254740992.0;                                    // 2^-53: the product below is exact
  return (static_cast<double>(odd) * kUnit) * bound;
}

}  // namespace nn
