// Random numbers that are the same on every machine, compiler and library, unlike those of std::normal_distribution: a seed
// names an initialisation, or a shuffle, for good.
#ifndef LOCKSTEP_EXAMPLES_NN_RANDOM_H_
#define LOCKSTEP_EXAMPLES_NN_RANDOM_H_

#include <cstdint>

namespace nn {

// SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", 2014): the state counts up by the golden
// ratio, the output is a mix of its bits. Its numbers are tested against the published ones.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}

  // 64 uniform bits.
  uint64_t Next();
  // Uniform in [0, n); n > 0. Unbiased: draws again where the range does not divide 2^64.
  uint64_t Below(uint64_t n);
  // Uniform in (-bound, bound): an odd multiple of 2^-53, times `bound`. One rounding only, so that no compiler's fused
  // multiply-add makes another number of it.
  double Uniform(double bound);

 private:
  uint64_t state_;
};

}  // namespace nn

#endif  // LOCKSTEP_EXAMPLES_NN_RANDOM_H_
