// The formulas of torch.optim's documentation, written out element by element in double, are the oracle.
#include "examples/nn/optimizer.h"

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "absl/status/status_matchers.h"
#include "examples/nn/random.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace nn {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int kSize = 7;  // not a multiple of any vector width

template <typename T>
class OptimizerTest : public testing::Test {
 protected:
  OptimizerTest() {
    module_.AddParameter("fc1.weight", {kSize});
    for (double& value : expected_) value = Draw();
    for (int i = 0; i < kSize; ++i) module_.Value(0).data()[i] = static_cast<T>(expected_[i]);
  }

  double Draw() { return static_cast<T>(random_.Uniform(1)); }  // exact in T
  void DrawGradient() {
    for (int i = 0; i < kSize; ++i) {
      gradient_[i] = Draw();
      module_.Gradient(0).data()[i] = static_cast<T>(gradient_[i]);
    }
    module_.MarkGradientWritten(0);
  }
  void ExpectValues(const std::string& when) {
    const double tolerance = std::is_same<T, float>::value ? 1e-6 : 1e-15;
    for (int i = 0; i < kSize; ++i) {
      EXPECT_NEAR(module_.Value(0).data()[i], expected_[i], tolerance) << when << ", element " << i;
    }
  }

  Random random_{5};
  Module<T> module_;
  std::vector<double> expected_ = std::vector<double>(kSize);
  std::vector<double> gradient_ = std::vector<double>(kSize);
};

using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(OptimizerTest, Types);

TYPED_TEST(OptimizerTest, SgdFollowsTorchsFormula) {
  for (const double momentum : {0.0, 0.9}) {
    for (const double weight_decay : {0.0, 0.01}) {
      Sgd<TypeParam> sgd(this->module_, {.learning_rate = 0.1, .momentum = momentum, .weight_decay = weight_decay});
      std::vector<double> buffer(kSize);
      for (int step = 0; step < 5; ++step) {
        this->DrawGradient();
        sgd.Step();
        for (int i = 0; i < kSize; ++i) {
          const double g = this->gradient_[i] + weight_decay * this->expected_[i];
          buffer[i] = step == 0 ? g : momentum * buffer[i] + g;
          this->expected_[i] -= 0.1 * buffer[i];
        }
        this->ExpectValues("momentum " + std::to_string(momentum) + ", step " + std::to_string(step));
      }
    }
  }
}

TYPED_TEST(OptimizerTest, AdamFollowsTorchsFormula) {
  for (const double weight_decay : {0.0, 0.01}) {
    Adam<TypeParam> adam(this->module_, {.learning_rate = 0.01, .beta1 = 0.8, .beta2 = 0.95, .weight_decay = weight_decay});
    std::vector<double> m(kSize), v(kSize);
    for (int t = 1; t <= 5; ++t) {
      this->DrawGradient();
      adam.Step();
      for (int i = 0; i < kSize; ++i) {
        const double g = this->gradient_[i] + weight_decay * this->expected_[i];
        m[i] = 0.8 * m[i] + (1 - 0.8) * g;
        v[i] = 0.95 * v[i] + (1 - 0.95) * g * g;
        const double m_hat = m[i] / (1 - std::pow(0.8, t));
        const double v_hat = v[i] / (1 - std::pow(0.95, t));
        this->expected_[i] -= 0.01 * m_hat / (std::sqrt(v_hat) + 1e-8);
      }
      this->ExpectValues("step " + std::to_string(t));
    }
  }
}

// Adam's first step moves each element by the learning rate, whatever the gradient's size.
TEST(Adam, ItsFirstStepIsTheLearningRate) {
  Module<double> module;
  module.AddParameter("w", {2});
  module.Gradient(0) << 1e-3, -1e3;
  module.MarkGradientWritten(0);
  Adam<double>(module, {.learning_rate = 0.5}).Step();
  EXPECT_NEAR(module.Value(0)(0, 0), -0.5, 1e-5);
  EXPECT_NEAR(module.Value(0)(0, 1), 0.5, 1e-5);
}

template <typename T>
std::vector<std::string> Names(Optimizer<T>& optimizer) {
  std::vector<std::string> names;
  for (const lockstep::StateTensor& tensor : optimizer.StateTensors()) names.push_back(tensor.name);
  return names;
}

void AddTwoAndAFrozenParameter(Module<float>& module) {
  module.AddParameter("fc1.weight", {2, 3});
  module.AddParameter("frozen", {4}, /*requires_grad=*/false);
  module.AddParameter("fc1.bias", {2});
}

TEST(Optimizer, StateIsNamedAfterTheParameterAndTheFrozenHaveNone) {
  Module<float> module;
  AddTwoAndAFrozenParameter(module);
  Sgd<float> plain(module, {.momentum = 0});
  Sgd<float> momentum(module, {.momentum = 0.9});
  Adam<float> adam(module);
  EXPECT_TRUE(Names(plain).empty());
  EXPECT_THAT(Names(momentum), ElementsAre("momentum.fc1.weight", "momentum.fc1.bias"));
  EXPECT_THAT(momentum.StateTensors()[0].shape, ElementsAre(2, 3));
  EXPECT_EQ(momentum.StateTensors()[0].data.count, 6);
  EXPECT_THAT(Names(adam), ElementsAre("exp_avg.fc1.weight", "exp_avg.fc1.bias", "exp_avg_sq.fc1.weight",
                                       "exp_avg_sq.fc1.bias", "step.fc1.weight", "step.fc1.bias"));
  EXPECT_EQ(adam.StateTensors()[4].data.dtype, lockstep::DType::kI64);
}

TEST(Optimizer, AParameterWithoutAGradientStaysAndDoesNotCountTheStep) {
  Module<float> module;
  AddTwoAndAFrozenParameter(module);
  module.Gradient(0).setOnes();
  module.MarkGradientWritten(0);
  Adam<float> adam(module);
  adam.Step();
  EXPECT_NE(module.Value(0)(0, 0), 0);
  EXPECT_EQ(module.Value(2)(0, 0), 0);
  EXPECT_EQ(*static_cast<const int64_t*>(adam.StateTensors()[4].data.data), 1);
  EXPECT_EQ(*static_cast<const int64_t*>(adam.StateTensors()[5].data.data), 0);
}

// Copies the state of one optimizer into a fresh one, as a checkpoint does.
template <typename AnOptimizer>
void ExpectStateIsAllThatCounts(AnOptimizer& trained, Module<float>& module, AnOptimizer& fresh,
                                Module<float>& fresh_module) {
  module.Gradient(0).setConstant(0.5);
  module.MarkGradientWritten(0);
  trained.Step();
  trained.Step();
  fresh_module.Value(0) = module.Value(0);
  const std::vector<lockstep::StateTensor> from = trained.StateTensors();
  const std::vector<lockstep::StateTensor> to = fresh.StateTensors();
  for (size_t i = 0; i < from.size(); ++i) std::memcpy(to[i].data.data, from[i].data.data, from[i].data.bytes());
  ABSL_ASSERT_OK(fresh.SetStateValues(trained.GetStateValues()));
  fresh_module.Gradient(0).setConstant(0.25);
  fresh_module.MarkGradientWritten(0);
  module.Gradient(0).setConstant(0.25);
  trained.Step();
  fresh.Step();
  EXPECT_EQ(module.Value(0), fresh_module.Value(0));
}

TEST(Optimizer, ARestoredOneContinuesBitForBit) {
  Module<float> a, b;
  AddTwoAndAFrozenParameter(a);
  AddTwoAndAFrozenParameter(b);
  Sgd<float> sgd_a(a, {.momentum = 0.9}), sgd_b(b, {.momentum = 0.9});
  ExpectStateIsAllThatCounts(sgd_a, a, sgd_b, b);
  Adam<float> adam_a(a), adam_b(b);
  ExpectStateIsAllThatCounts(adam_a, a, adam_b, b);
}

TEST(Optimizer, RefusesValuesThatAreNotItsOwn) {
  Module<float> module;
  AddTwoAndAFrozenParameter(module);
  Sgd<float> sgd(module);
  EXPECT_THAT(sgd.SetStateValues({{"epoch", "3"}}),
              absl_testing::StatusIs(absl::StatusCode::kDataLoss, HasSubstr("\"epoch\"")));
}

}  // namespace
}  // namespace nn
