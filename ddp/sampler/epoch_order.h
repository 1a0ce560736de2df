// The orders in which an epoch may visit a data set: permutations of [0, size), the same on every machine.
//
// Each is a function of its arguments alone and has a name with a version, which checkpoints store. A version's order never
// changes: what would change it is a new version.
#ifndef LOCKSTEP_DDP_SAMPLER_EPOCH_ORDER_H_
#define LOCKSTEP_DDP_SAMPLER_EPOCH_ORDER_H_

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

namespace lockstep {

// Which sample stands at a position of the epoch. Immutable; any thread.
class EpochOrder {
 public:
  virtual ~EpochOrder() = default;
  // `position` is in [0, size).
  virtual int64_t At(int64_t position) const = 0;
};

// "sequential/1": position p holds sample p.
class SequentialOrder final : public EpochOrder {
 public:
  int64_t At(int64_t position) const override { return position; }
};

// "feistel/1": a Feistel network over the smallest power of two that holds `size`, walked until it lands inside, keyed by
// (seed, epoch). Constant memory, and about 0.1 us a position; docs/checkpoint_format.md gives the algorithm and vectors.
class FeistelOrder final : public EpochOrder {
 public:
  FeistelOrder(int64_t size, uint64_t seed, int64_t epoch);
  int64_t At(int64_t position) const override;

 private:
  // Even. With 16, the orders of seven samples are visibly not equally likely (chi-square 4.1 times its mean; 1.2 with 24).
  static constexpr int kRounds = 24;

  uint64_t Permute(uint64_t x) const;

  const uint64_t size_;
  int left_bits_ = 0;
  int right_bits_ = 0;
  std::array<uint64_t, kRounds> keys_;
};

// "torch-randperm/1": torch.randperm(size) on the CPU from a generator seeded with `seed`, bit for bit. Takes 4 bytes a
// sample and the time to shuffle them all.
class TorchOrder final : public EpochOrder {
 public:
  static constexpr int64_t kMaxSize = int64_t{1} << 32;
  // From this size on torch draws 64 bits a step instead of 32.
  static constexpr int64_t kWideSize = 214748364;

  TorchOrder(int64_t size, uint64_t seed);
  int64_t At(int64_t position) const override { return order_[static_cast<size_t>(position)]; }

 private:
  std::vector<uint32_t> order_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_DDP_SAMPLER_EPOCH_ORDER_H_
