#include "examples/nn/random.h"

#include <array>
#include <cstdint>

#include "gtest/gtest.h"

namespace nn {
namespace {

// The reference implementation's first outputs for this seed, as Rosetta Code and several libraries list them.
TEST(Random, GivesThePublishedSequenceOfSplitMix64) {
  Random random(1234567);
  EXPECT_EQ(random.Next(), 6457827717110365317u);
  EXPECT_EQ(random.Next(), 3203168211198807973u);
  EXPECT_EQ(random.Next(), 9817491932198370423u);
  EXPECT_EQ(random.Next(), 4593380528125082431u);
  EXPECT_EQ(random.Next(), 16408922859458223821u);
}

TEST(Random, BelowCoversItsRangeEvenly) {
  Random random(3);
  std::array<int, 7> counts = {};
  for (int i = 0; i < 70000; ++i) ++counts.at(random.Below(7));
  for (const int count : counts) EXPECT_NEAR(count, 10000, 500);  // five standard deviations
}

TEST(Random, BelowOneIsAlwaysZero) {
  Random random(3);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(random.Below(1), 0u);
}

TEST(Random, UniformStaysWithinItsBoundsAndFillsThem) {
  Random random(11);
  double sum = 0;
  double least = 1;
  double greatest = -1;
  for (int i = 0; i < 10000; ++i) {
    const double value = random.Uniform(0.25);
    sum += value;
    least = std::min(least, value);
    greatest = std::max(greatest, value);
  }
  EXPECT_GT(least, -0.25);
  EXPECT_LT(greatest, 0.25);
  EXPECT_LT(least, -0.249);
  EXPECT_GT(greatest, 0.249);
  EXPECT_NEAR(sum / 10000, 0, 0.25 / 1.7320508 / 100 * 5);  // five standard errors
}

}  // namespace
}  // namespace nn
