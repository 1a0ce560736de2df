#include "examples/nn/module.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace nn {
namespace {

using ::testing::ElementsAre;

template <typename T>
std::vector<T> Elements(MatrixView<T> view) {
  return std::vector<T>(view.data(), view.data() + view.size());
}

class Recorder : public lockstep::BackwardObserver {
 public:
  void OnGradientReady(int parameter, lockstep::Stream) override { events.push_back(std::to_string(parameter)); }
  void OnBackwardEnd() override { events.push_back("end"); }
  std::vector<std::string> events;
};

TEST(Module, ParametersKeepTheOrderNamesShapesAndDTypeTheyWereAddedWith) {
  Module<double> module;
  EXPECT_EQ(module.AddParameter("w", {2, 3}), 0);
  EXPECT_EQ(module.AddParameter("b", {3}), 1);
  EXPECT_EQ(module.AddParameter("scale", {}, /*requires_grad=*/false), 2);
  ASSERT_EQ(module.parameters().size(), 3u);
  EXPECT_EQ(module.parameters()[0].name, "w");
  EXPECT_THAT(module.parameters()[0].shape, ElementsAre(2, 3));
  EXPECT_EQ(module.parameters()[0].dtype, lockstep::DType::kF64);
  EXPECT_TRUE(module.parameters()[0].requires_grad);
  EXPECT_THAT(module.parameters()[1].shape, ElementsAre(3));
  EXPECT_TRUE(module.parameters()[2].shape.empty());
  EXPECT_FALSE(module.parameters()[2].requires_grad);
  EXPECT_EQ(module.ParameterValue(0).count, 6);
  EXPECT_EQ(module.ParameterValue(1).count, 3);
  EXPECT_EQ(module.ParameterValue(2).count, 1);
  EXPECT_EQ(Module<float>().AddParameter("w", {1}), 0);
}

TEST(Module, AParameterStartsAsZerosAndWithoutAGradient) {
  Module<float> module;
  module.AddParameter("w", {2, 2});
  EXPECT_THAT(Elements(module.Value(0)), ElementsAre(0, 0, 0, 0));
  EXPECT_FALSE(module.HasGradient(0));
}

TEST(Module, ValuesStayWhereTheyAreWhenMoreParametersAreAdded) {
  Module<float> module;
  module.AddParameter("first", {4});
  const void* const before = module.ParameterValue(0).data;
  for (int i = 0; i < 100; ++i) module.AddParameter("p" + std::to_string(i), {4});
  EXPECT_EQ(module.ParameterValue(0).data, before);
}

TEST(Module, BindingAGradientMovesItsContentsAndBackwardWritesThereFromThenOn) {
  Module<float> module;
  module.AddParameter("w", {2});
  module.Gradient(0) << 1, 2;
  module.MarkGradientWritten(0);
  std::vector<float> bucket(2), second(2);
  module.BindGradient(0, lockstep::MakeBuffer(absl::MakeSpan(bucket)));
  EXPECT_THAT(bucket, ElementsAre(1, 2));
  EXPECT_EQ(module.Gradient(0).data(), bucket.data());
  module.BindGradient(0, lockstep::MakeBuffer(absl::MakeSpan(second)));
  EXPECT_THAT(second, ElementsAre(1, 2));
  EXPECT_TRUE(module.HasGradient(0));
}

TEST(Module, BindingWithoutAGradientLeavesTheStorageAsItIs) {
  Module<float> module;
  module.AddParameter("w", {2});
  module.Gradient(0) << 1, 2;
  module.MarkGradientWritten(0);
  module.ClearGradient(0);
  std::vector<float> bucket(2);
  module.BindGradient(0, lockstep::MakeBuffer(absl::MakeSpan(bucket)));
  EXPECT_THAT(bucket, ElementsAre(0, 0));
  EXPECT_FALSE(module.HasGradient(0));
}

TEST(Module, UnbindingAGradientLosesItAndTheModuleTrainsOnInMemoryOfItsOwn) {
  Module<float> module;
  module.AddParameter("w", {2});
  {
    std::vector<float> bucket(2);
    module.BindGradient(0, lockstep::MakeBuffer(absl::MakeSpan(bucket)));
    module.MarkGradientWritten(0);
    module.BindGradient(0, lockstep::Buffer{nullptr, 2, lockstep::DType::kF32, lockstep::Device()});
  }
  EXPECT_FALSE(module.HasGradient(0));
  module.Gradient(0) << 3, 4;  // under asan: not into the bucket, which is gone
  EXPECT_THAT(Elements(module.Gradient(0)), ElementsAre(3, 4));
}

TEST(Module, BindingAValueMovesItsContents) {
  Module<double> module;
  module.AddParameter("w", {2});
  module.Value(0) << 1, 2;
  std::vector<double> shard(2), second(2);
  module.BindValue(0, lockstep::MakeBuffer(absl::MakeSpan(shard)));
  module.BindValue(0, lockstep::MakeBuffer(absl::MakeSpan(second)));
  EXPECT_THAT(second, ElementsAre(1, 2));
  EXPECT_EQ(module.ParameterValue(0).data, second.data());
  second[1] = 5;
  EXPECT_EQ(module.Value(0)(0, 1), 5);
}

TEST(Module, TheObserverHearsOfBackwardUntilItIsTakenAway) {
  Module<float> module;
  module.AddParameter("w", {2});
  Recorder recorder;
  module.GradientReady(0);
  module.SetBackwardObserver(&recorder);
  module.GradientReady(0);
  module.BackwardEnd();
  module.SetBackwardObserver(nullptr);
  module.BackwardEnd();
  EXPECT_THAT(recorder.events, ElementsAre("0", "end"));
}

TEST(ModuleDeathTest, AParameterOfThreeDimensionsEndsTheProgramWithItsName) {
  Module<float> module;
  EXPECT_DEATH(module.AddParameter("conv.weight", {2, 3, 4}), "conv.weight");
}

}  // namespace
}  // namespace nn
