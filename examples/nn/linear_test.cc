#include "examples/nn/linear.h"

#include <cmath>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace nn {
namespace {

using ::testing::ElementsAre;

TEST(Linear, AddsItsWeightThenItsBias) {
  Module<float> module;
  Random random(1);
  const Linear<float> first(module, "fc1", 3, 2, random);
  const Linear<float> second(module, "fc2", 2, 5, random);
  std::vector<std::string> names;
  for (const lockstep::ParameterInfo& info : module.parameters()) names.push_back(info.name);
  EXPECT_THAT(names, ElementsAre("fc1.weight", "fc1.bias", "fc2.weight", "fc2.bias"));
  EXPECT_THAT(module.parameters()[0].shape, ElementsAre(2, 3));
  EXPECT_THAT(module.parameters()[1].shape, ElementsAre(2));
  EXPECT_THAT(module.parameters()[2].shape, ElementsAre(5, 2));
}

TEST(Linear, ComputesXTimesTheTransposedWeightPlusTheBias) {
  Module<double> module;
  Random random(1);
  const Linear<double> layer(module, "fc", 2, 3, random);
  module.Value(0) << 1, 2, -3, 4, 5, 6;
  module.Value(1) << 10, 0, -100;
  const std::vector<double> x = {1, 2, 3, -1};
  Tape<double> tape(module);
  const Variable y = layer(tape, tape.Input(ConstMatrixView<double>(x.data(), 2, 2)));
  EXPECT_EQ(tape.Value(y), (Matrix<double>(2, 3) << 15, 5, -83, 11, -13, -91).finished());
}

TEST(Linear, InitialValuesLieWithinOneOverTheRootOfItsInputs) {
  Module<double> module;
  Random random(7);
  const Linear<double> layer(module, "fc", 64, 100, random);
  EXPECT_LT(module.Value(0).cwiseAbs().maxCoeff(), 0.125);
  EXPECT_GT(module.Value(0).cwiseAbs().maxCoeff(), 0.124);
  EXPECT_GT(module.Value(1).cwiseAbs().maxCoeff(), 0.1);
  EXPECT_NEAR(std::sqrt(module.Value(0).squaredNorm() / 6400), 0.125 / std::sqrt(3), 0.002);
}

// Computed once by an independent SplitMix64 in Python (row-major order, weight before bias): if this fails, every recorded
// run of the examples has changed.
TEST(Linear, ASeedNamesTheSameValuesOnEveryMachine) {
  Module<double> module;
  Random random(1);
  const Linear<double> layer(module, "fc", 2, 2, random);
  EXPECT_EQ(module.Value(0),
            (Matrix<double>(2, 2) << 0.09413228234155599, 0.34758789450480393, 0.6660984820375202, -0.07868794986078463)
                .finished());
  EXPECT_EQ(module.Value(1), (Matrix<double>(1, 2) << -0.07882161599428632, 0.37178881451344015).finished());
  Module<float> rounded;
  Random again(1);
  const Linear<float> other(rounded, "fc", 2, 2, again);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(rounded.Value(0).data()[i], static_cast<float>(module.Value(0).data()[i]));
}

}  // namespace
}  // namespace nn
