#include "ddp/sampler/epoch_order.h"

#include <numeric>
#include <random>
#include <utility>

namespace lockstep {
namespace {

// The finaliser of SplitMix64: a bijection in which every input bit moves every output bit.
uint64_t Mix(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

uint64_t LowBits(int bits) { return (uint64_t{1} << bits) - 1; }

int BitsFor(uint64_t size) {
  int bits = 0;
  while (bits < 63 && (uint64_t{1} << bits) < size) ++bits;
  return bits;
}

// Draws n - 1 words of 32 bits; the modulo's bias is torch's too.
void ShuffleFromTheFront(std::mt19937& generator, std::vector<uint32_t>& order) {
  std::iota(order.begin(), order.end(), 0);
  for (size_t i = 0; i + 1 < order.size(); ++i) {
    const size_t other = i + generator() % (order.size() - i);
    std::swap(order[i], order[other]);
  }
}

// Draws n words of 64 bits, high half first.
void ShuffleInsideOut(std::mt19937& generator, std::vector<uint32_t>& order) {
  for (size_t i = 0; i < order.size(); ++i) {
    const uint64_t high = generator();
    const uint64_t word = (high << 32) | generator();
    const size_t other = word % (i + 1);
    order[i] = order[other];
    order[other] = static_cast<uint32_t>(i);
  }
}

}  // namespace

FeistelOrder::FeistelOrder(int64_t size, uint64_t seed, int64_t epoch) : size_(static_cast<uint64_t>(size)) {
  const int bits = BitsFor(size_);
  left_bits_ = bits - bits / 2;
  right_bits_ = bits / 2;
  constexpr uint64_t kGolden = 0x9e3779b97f4a7c15;
  // Seed and epoch are mixed one after the other, so that neighbouring seeds share no epochs.
  uint64_t state = Mix(Mix(seed + kGolden) + static_cast<uint64_t>(epoch) + kGolden);
  for (uint64_t& key : keys_) key = Mix(state += kGolden);
}

uint64_t FeistelOrder::Permute(uint64_t x) const {
  uint64_t left = x >> right_bits_;
  uint64_t right = x & LowBits(right_bits_);
  for (size_t round = 0; round < kRounds; round += 2) {
    left ^= Mix(right + keys_[round]) & LowBits(left_bits_);
    right ^= Mix(left + keys_[round + 1]) & LowBits(right_bits_);
  }
  return (left << right_bits_) | right;
}

// The network permutes a range of less than twice the size; following it from inside until it is inside again permutes the
// inside alone (the cycle must come back), in under two steps on average.
int64_t FeistelOrder::At(int64_t position) const {
  uint64_t x = static_cast<uint64_t>(position);
  do {
    x = Permute(x);
  } while (x >= size_);
  return static_cast<int64_t>(x);
}

TorchOrder::TorchOrder(int64_t size, uint64_t seed) : order_(static_cast<size_t>(size)) {
  std::mt19937 generator(static_cast<uint32_t>(seed));  // torch keeps the low 32 bits too
  if (size < kWideSize) {
    ShuffleFromTheFront(generator, order_);
  } else {
    ShuffleInsideOut(generator, order_);
  }
}

}  // namespace lockstep
