#include "ddp/sampler/epoch_order.h"

#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

using ::testing::ElementsAre;

std::vector<int64_t> All(const EpochOrder& order, int64_t size) {
  std::vector<int64_t> samples;
  for (int64_t p = 0; p < size; ++p) samples.push_back(order.At(p));
  return samples;
}

std::vector<int64_t> Feistel(int64_t size, uint64_t seed, int64_t epoch) {
  return All(FeistelOrder(size, seed, epoch), size);
}

std::vector<int64_t> Torch(int64_t size, uint64_t seed) { return All(TorchOrder(size, seed), size); }

uint32_t Crc32(const std::vector<int64_t>& samples) {
  return static_cast<uint32_t>(
      crc32_z(0, reinterpret_cast<const Bytef*>(samples.data()), samples.size() * sizeof(samples[0])));
}

// The sum of (seen - expected)^2 / expected; its mean is the number of cells less one.
double ChiSquare(const std::vector<int64_t>& counts, double expected) {
  double sum = 0;
  for (const int64_t count : counts) sum += (count - expected) * (count - expected) / expected;
  return sum;
}

// Five standard deviations above the mean of a chi-square of that many degrees of freedom.
double Limit(double degrees) { return degrees + 5 * std::sqrt(2 * degrees); }

// Values of torch.randperm(size, generator=torch.Generator().manual_seed(seed)), PyTorch 2.14.
struct TorchVector {
  int64_t size;
  uint64_t seed;
  std::vector<int64_t> order;
};

TEST(TorchOrder, IsTorchsRandpermBitForBit) {
  const std::vector<TorchVector> vectors = {
      {0, 0, {}},
      {1, 0, {0}},
      {2, 0, {0, 1}},
      {5, 42, {2, 4, 3, 0, 1}},
      {5, 3, {1, 0, 3, 4, 2}},
      {7, 12345678901, {5, 6, 1, 3, 0, 2, 4}},
      {8, uint64_t{1} << 32, {4, 0, 7, 3, 2, 5, 1, 6}},
      {8, 0, {4, 0, 7, 3, 2, 5, 1, 6}},
      {8, std::numeric_limits<uint64_t>::max(), {3, 6, 4, 7, 2, 1, 5, 0}},
      {8, std::numeric_limits<uint32_t>::max(), {3, 6, 4, 7, 2, 1, 5, 0}},
      {10, 0, {4, 1, 7, 5, 3, 9, 0, 8, 6, 2}},
      {10, 1, {5, 6, 1, 2, 0, 8, 9, 3, 7, 4}},
      {10, 2, {8, 7, 1, 5, 6, 9, 0, 4, 2, 3}},
      {16, 0, {12, 10, 9, 6, 11, 8, 13, 5, 2, 14, 15, 0, 4, 3, 7, 1}},
      {20, 2147483647, {11, 4, 9, 15, 13, 5, 8, 14, 0, 1, 6, 3, 16, 10, 2, 19, 12, 18, 17, 7}},
  };
  for (const TorchVector& v : vectors) EXPECT_EQ(Torch(v.size, v.seed), v.order) << v.size << " seed " << v.seed;
}

TEST(TorchOrder, IsTorchsRandpermForLargeDataSets) {
  const std::vector<int64_t> mnist = Torch(60000, 0);
  EXPECT_THAT(std::vector<int64_t>(mnist.begin(), mnist.begin() + 8),
              ElementsAre(36044, 10678, 57327, 55074, 21567, 15479, 9481, 43095));
  EXPECT_THAT(std::vector<int64_t>(mnist.end() - 4, mnist.end()), ElementsAre(6465, 31951, 27130, 1544));
  EXPECT_EQ(Crc32(mnist), 2957600877u);
  const std::vector<int64_t> million = Torch(1000000, 7);
  EXPECT_THAT(std::vector<int64_t>(million.begin(), million.begin() + 4), ElementsAre(741615, 414869, 732421, 979396));
  EXPECT_THAT(std::vector<int64_t>(million.end() - 4, million.end()), ElementsAre(703803, 620570, 712523, 941491));
  EXPECT_EQ(Crc32(million), 3095685019u);
}

// The values are those of a second implementation, written in Python from the description in docs/checkpoint_format.md.
TEST(FeistelOrder, IsTheSameOnEveryMachine) {
  EXPECT_THAT(Feistel(10, 0, 0), ElementsAre(0, 4, 6, 9, 8, 3, 7, 2, 1, 5));
  EXPECT_THAT(Feistel(10, 0, 1), ElementsAre(6, 9, 5, 2, 8, 4, 3, 7, 0, 1));
  EXPECT_THAT(Feistel(10, 1, 0), ElementsAre(7, 2, 5, 3, 0, 8, 1, 6, 9, 4));
  EXPECT_THAT(Feistel(7, 12345678901, 3), ElementsAre(6, 0, 3, 1, 2, 4, 5));
  EXPECT_THAT(Feistel(16, std::numeric_limits<uint64_t>::max(), -1),
              ElementsAre(15, 6, 3, 9, 12, 1, 13, 2, 14, 11, 10, 5, 0, 4, 7, 8));
}

TEST(FeistelOrder, IsTheSameOnEveryMachineForSizesUpToTwoToThe62) {
  struct Ends {
    int64_t size, first, second, before_last, last;
  };
  const Ends ends[] = {
      {1797, 1012, 300, 676, 1456},
      {1000000, 777596, 523192, 749338, 556529},
      {int64_t{1} << 40, 1061555022937, 154166038559, 753115234890, 360811976955},
      {int64_t{1} << 62, 4147892785935415310, 1911394417377048098, 2981046088583368215, 549246157804623858},
  };
  for (const Ends& e : ends) {
    const FeistelOrder order(e.size, 7, 2);
    EXPECT_EQ(order.At(0), e.first) << e.size;
    EXPECT_EQ(order.At(1), e.second) << e.size;
    EXPECT_EQ(order.At(e.size - 2), e.before_last) << e.size;
    EXPECT_EQ(order.At(e.size - 1), e.last) << e.size;
  }
}

TEST(FeistelOrder, IsAPermutationForEverySizeUpTo300) {
  for (int64_t size = 0; size <= 300; ++size) {
    std::vector<int64_t> samples = Feistel(size, 11, size);
    std::sort(samples.begin(), samples.end());
    for (int64_t i = 0; i < size; ++i) ASSERT_EQ(samples[static_cast<size_t>(i)], i) << "size " << size;
  }
}

class SmallPermutations : public testing::TestWithParam<int64_t> {};

// With 16 rounds instead of 24, six and seven samples fail this.
TEST_P(SmallPermutations, AreEachAsLikelyAsTheOthers) {
  constexpr int kPerPermutation = 100;
  const int permutations = static_cast<int>(std::lround(std::tgamma(GetParam() + 1)));
  std::map<std::vector<int64_t>, int64_t> seen;
  for (int seed = 0; seed < permutations * kPerPermutation; ++seed) ++seen[Feistel(GetParam(), seed, 0)];
  std::vector<int64_t> counts;
  for (const auto& [permutation, count] : seen) counts.push_back(count);
  EXPECT_EQ(counts.size(), static_cast<size_t>(permutations));
  EXPECT_LT(ChiSquare(counts, kPerPermutation), Limit(permutations - 1));
}

INSTANTIATE_TEST_SUITE_P(Sizes, SmallPermutations, testing::Values(2, 3, 4, 5, 6, 7));

TEST(FeistelOrder, PutsEverySampleAtEveryPositionEquallyOftenOverEpochs) {
  constexpr int64_t kSize = 37;
  constexpr int64_t kEpochs = kSize * 200;
  std::vector<int64_t> counts(kSize * kSize);
  for (int64_t epoch = 0; epoch < kEpochs; ++epoch) {
    const FeistelOrder order(kSize, 3, epoch);
    for (int64_t p = 0; p < kSize; ++p) ++counts[static_cast<size_t>(p * kSize + order.At(p))];
  }
  EXPECT_LT(ChiSquare(counts, static_cast<double>(kEpochs) / kSize), Limit((kSize - 1) * (kSize - 1)));
}

// What follows what: the difference of neighbours, in 64 classes, and the mean of each stretch of the epoch.
TEST(FeistelOrder, HasNeitherRunsNorTrends) {
  constexpr int64_t kSize = 1000000;
  constexpr int64_t kClasses = 64;
  const FeistelOrder order(kSize, 5, 1);
  std::vector<int64_t> steps(kClasses);
  for (int64_t p = 0; p + 1 < kSize; ++p) {
    const int64_t step = (order.At(p + 1) - order.At(p) + kSize) % kSize;
    ++steps[static_cast<size_t>(step * kClasses / kSize)];
  }
  EXPECT_LT(ChiSquare(steps, static_cast<double>(kSize) / kClasses), Limit(kClasses - 1));
  for (int64_t stretch = 0; stretch < 100; ++stretch) {
    double sum = 0;
    for (int64_t p = stretch * 10000; p < (stretch + 1) * 10000; ++p) sum += static_cast<double>(order.At(p));
    // A uniform mean of 10,000 has a standard deviation of 1e6 / sqrt(12 * 10,000) = 2,887.
    EXPECT_NEAR(sum / 10000, kSize / 2.0, 5 * 2887) << "stretch " << stretch;
  }
}

TEST(FeistelOrder, OfNeighbouringSeedsAndEpochsHaveNothingInCommon) {
  constexpr int64_t kSize = 10000;
  const std::vector<int64_t> base = Feistel(kSize, 1, 1);
  for (const auto& [seed, epoch] :
       std::vector<std::pair<uint64_t, int64_t>>{{0, 2}, {2, 0}, {1, 0}, {1, 2}, {0, 1}, {2, 1}}) {
    const std::vector<int64_t> other = Feistel(kSize, seed, epoch);
    int equal = 0;
    for (int64_t p = 0; p < kSize; ++p) equal += base[static_cast<size_t>(p)] == other[static_cast<size_t>(p)];
    EXPECT_LE(equal, 8) << "seed " << seed << " epoch " << epoch;  // one is expected
  }
}

TEST(SequentialOrder, IsTheDataSetsOwn) { EXPECT_THAT(All(SequentialOrder(), 4), ElementsAre(0, 1, 2, 3)); }

}  // namespace
}  // namespace lockstep
