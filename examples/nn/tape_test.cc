#include "examples/nn/tape.h"

#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "examples/nn/random.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

// Counts what malloc gives out, operator new's calls and Eigen's included. Not under a sanitizer whose own allocator must see them.
std::atomic<int64_t> allocations{0};
#ifndef LOCKSTEP_SANITIZER_MALLOC
extern "C" void* __libc_malloc(size_t size);
extern "C" void* malloc(size_t size) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  return __libc_malloc(size);
}
#endif

namespace nn {
namespace {

using ::testing::ElementsAre;

// Records what an engine would hear, and what the gradient's first element was at that moment.
class Recorder : public lockstep::BackwardObserver {
 public:
  explicit Recorder(Module<double>& module) : module_(module) {}
  void OnGradientReady(int parameter, lockstep::Stream) override {
    ready.push_back(parameter);
    first_element.push_back(module_.Gradient(parameter)(0, 0));
  }
  void OnBackwardEnd() override { ++ends; }

  std::vector<int> ready;
  std::vector<double> first_element;
  int ends = 0;

 private:
  Module<double>& module_;
};

void Fill(Module<double>& module, int parameter, Random& random) {
  MatrixView<double> value = module.Value(parameter);
  for (Eigen::Index i = 0; i < value.size(); ++i) value.data()[i] = random.Uniform(1);
}

// A function of a module's parameters, whose derivatives are checked.
struct Function {
  std::string name;
  std::vector<std::vector<int64_t>> shapes;
  std::function<Variable(Tape<double>&)> loss;
};

const std::vector<int> kLabels = {2, 0, 1, 2, 3};

// Each turns its result, 5x4, into a loss through SoftmaxCrossEntropy, whose derivative differs from element to element.
std::vector<Function> Functions() {
  const auto loss = [](Tape<double>& tape, Variable v) { return tape.SoftmaxCrossEntropy(v, kLabels); };
  return {
      {"SoftmaxCrossEntropy", {{5, 4}}, [=](auto& t) { return loss(t, t.Parameter(0)); }},
      {"MatMul", {{5, 3}, {3, 4}}, [=](auto& t) { return loss(t, t.MatMul(t.Parameter(0), t.Parameter(1))); }},
      {"MatMulTransposed",
       {{5, 3}, {4, 3}},
       [=](auto& t) { return loss(t, t.MatMulTransposed(t.Parameter(0), t.Parameter(1))); }},
      {"AddOfEqualShapes", {{5, 4}, {5, 4}}, [=](auto& t) { return loss(t, t.Add(t.Parameter(0), t.Parameter(1))); }},
      {"AddOfARow", {{5, 4}, {4}}, [=](auto& t) { return loss(t, t.Add(t.Parameter(0), t.Parameter(1))); }},
      {"AddToItself", {{5, 4}}, [=](auto& t) { return loss(t, t.Add(t.Parameter(0), t.Parameter(0))); }},
      {"Relu", {{5, 4}}, [=](auto& t) { return loss(t, t.Relu(t.Parameter(0))); }},
      {"AResultUsedTwice",
       {{5, 4}, {4, 4}},
       [=](auto& t) {
         const Variable product = t.MatMul(t.Parameter(0), t.Parameter(1));
         return loss(t, t.Add(product, t.Relu(product)));
       }},
      {"AResultAddedToItself",
       {{5, 4}, {4, 4}},
       [=](auto& t) {
         const Variable product = t.MatMul(t.Parameter(0), t.Parameter(1));
         return loss(t, t.Add(product, product));
       }},
      {"AParameterUsedInTwoLayers",
       {{5, 4}, {4, 4}},
       [=](auto& t) {
         const Variable inner = t.Relu(t.MatMul(t.Parameter(0), t.Parameter(1)));
         return loss(t, t.MatMulTransposed(inner, t.Parameter(1)));
       }},
      {"TwoLayers",
       {{5, 3}, {6, 3}, {6}, {4, 6}, {4}},
       [=](auto& t) {
         const Variable hidden = t.Relu(t.Add(t.MatMulTransposed(t.Parameter(0), t.Parameter(1)), t.Parameter(2)));
         return loss(t, t.Add(t.MatMulTransposed(hidden, t.Parameter(3)), t.Parameter(4)));
       }},
  };
}

class DerivativeTest : public testing::TestWithParam<Function> {
 protected:
  DerivativeTest() {
    Random random(42);
    for (const std::vector<int64_t>& shape : GetParam().shapes) {
      Fill(module_, module_.AddParameter("p" + std::to_string(module_.parameters().size()), shape), random);
    }
  }
  double Loss() {
    Tape<double> tape(module_);
    return tape.Value(GetParam().loss(tape))(0, 0);
  }
  void Backward() {
    Tape<double> tape(module_);
    tape.Backward(GetParam().loss(tape));
  }

  Module<double> module_;
};

TEST_P(DerivativeTest, AgreesWithCentralDifferences) {
  Backward();
  constexpr double kStep = 1e-5;
  for (size_t p = 0; p < module_.parameters().size(); ++p) {
    for (Eigen::Index i = 0; i < module_.Value(p).size(); ++i) {
      double& value = module_.Value(p).data()[i];
      const double original = value;
      value = original + kStep;
      const double above = Loss();
      value = original - kStep;
      const double below = Loss();
      value = original;
      EXPECT_NEAR(module_.Gradient(p).data()[i], (above - below) / (2 * kStep), 1e-9)
          << "parameter " << p << " element " << i;
    }
  }
}

TEST_P(DerivativeTest, ASecondBackwardAddsAndOneAfterClearOverwrites) {
  Backward();
  std::vector<Matrix<double>> once;
  for (size_t p = 0; p < module_.parameters().size(); ++p) once.push_back(module_.Gradient(p));
  Backward();
  for (size_t p = 0; p < once.size(); ++p) {
    EXPECT_LT((module_.Gradient(p) - 2 * once[p]).cwiseAbs().maxCoeff(), 1e-15) << "parameter " << p;
    module_.ClearGradient(p);
  }
  Backward();
  for (size_t p = 0; p < once.size(); ++p) EXPECT_EQ(module_.Gradient(p), once[p]) << "parameter " << p;
}

TEST_P(DerivativeTest, IsBornInTheMemoryBoundForIt) {
  Backward();
  std::vector<Matrix<double>> unbound;
  std::vector<std::vector<double>> buckets(module_.parameters().size());
  for (size_t p = 0; p < buckets.size(); ++p) {
    unbound.push_back(module_.Gradient(p));
    module_.ClearGradient(p);
    buckets[p].assign(unbound[p].size(), std::nan(""));  // after Clear, what lies there counts for nothing
    module_.BindGradient(p, lockstep::MakeBuffer(absl::MakeSpan(buckets[p])));
  }
  Backward();
  for (size_t p = 0; p < buckets.size(); ++p) {
    EXPECT_THAT(buckets[p], testing::ElementsAreArray(unbound[p].data(), unbound[p].size())) << "parameter " << p;
  }
}

TEST_P(DerivativeTest, EveryGradientIsReportedOnceWhenItIsFinal) {
  Backward();
  std::vector<double> first_element;
  for (size_t p = 0; p < module_.parameters().size(); ++p) {
    first_element.push_back(module_.Gradient(p)(0, 0));
    module_.ClearGradient(p);
  }
  Recorder recorder(module_);
  module_.SetBackwardObserver(&recorder);
  Backward();
  EXPECT_EQ(recorder.ends, 1);
  ASSERT_EQ(recorder.ready.size(), first_element.size());
  for (size_t i = 0; i < first_element.size(); ++i) EXPECT_EQ(recorder.first_element[i], first_element[recorder.ready[i]]);
  EXPECT_EQ(std::set<int>(recorder.ready.begin(), recorder.ready.end()).size(), first_element.size());
}

INSTANTIATE_TEST_SUITE_P(Functions, DerivativeTest, testing::ValuesIn(Functions()),
                         [](const testing::TestParamInfo<Function>& instance) { return instance.param.name; });

TEST(Tape, GivesTheValuesOfAHandComputedLayer) {
  Module<double> module;
  module.AddParameter("w", {3, 2});  // [out, in]
  module.AddParameter("b", {3});
  module.Value(0) << 1, 2, -3, 4, 5, 6;
  module.Value(1) << 10, 0, -100;
  const std::vector<double> x = {1, 2, 3, -1};
  Tape<double> tape(module);
  const Variable input = tape.Input(ConstMatrixView<double>(x.data(), 2, 2));
  const Variable product = tape.MatMulTransposed(input, tape.Parameter(0));
  const Variable sum = tape.Add(product, tape.Parameter(1));
  const Variable relu = tape.Relu(sum);
  EXPECT_EQ(tape.Value(product), (Matrix<double>(2, 3) << 5, 5, 17, 1, -13, 9).finished());
  EXPECT_EQ(tape.Value(sum), (Matrix<double>(2, 3) << 15, 5, -83, 11, -13, -91).finished());
  EXPECT_EQ(tape.Value(relu), (Matrix<double>(2, 3) << 15, 5, 0, 11, 0, 0).finished());
  // x (2x2) times its own product (2x3): the untransposed product.
  EXPECT_EQ(tape.Value(tape.MatMul(input, product)), (Matrix<double>(2, 3) << 7, -21, 35, 14, 28, 42).finished());
}

TEST(Tape, SoftmaxCrossEntropyOfEqualLogitsIsLogOfTheClassCount) {
  Module<double> module;
  module.AddParameter("logits", {2, 4});
  const std::vector<int> labels = {0, 3};
  Tape<double> tape(module);
  const Variable loss = tape.SoftmaxCrossEntropy(tape.Parameter(0), labels);
  EXPECT_DOUBLE_EQ(tape.Value(loss)(0, 0), std::log(4));
  tape.Backward(loss);  // (softmax - one-hot) / rows
  EXPECT_EQ(module.Gradient(0), (Matrix<double>(2, 4) << -.375, .125, .125, .125, .125, .125, .125, -.375).finished());
}

TEST(Tape, SoftmaxCrossEntropyOfHugeLogitsIsFinite) {
  Module<float> module;
  module.AddParameter("logits", {2, 2});
  module.Value(0) << 1e30f, 0, -3e38f, 0;
  const std::vector<int> labels = {0, 1};
  Tape<float> tape(module);
  const Variable loss = tape.SoftmaxCrossEntropy(tape.Parameter(0), labels);
  EXPECT_EQ(tape.Value(loss)(0, 0), 0);
  tape.Backward(loss);
  EXPECT_EQ(module.Gradient(0).cwiseAbs().maxCoeff(), 0);
}

TEST(Tape, GradientsBecomeReadyFromTheLastLayerToTheFirst) {
  Module<double> module;
  for (const std::vector<int64_t>& shape : std::vector<std::vector<int64_t>>{{3, 2}, {3}, {4, 3}, {4}}) {
    module.AddParameter("p", shape);
  }
  Recorder recorder(module);
  module.SetBackwardObserver(&recorder);
  const Matrix<double> x = Matrix<double>::Ones(1, 2);
  const std::vector<int> labels = {1};
  Tape<double> tape(module);
  Variable v = tape.Input(ConstMatrixView<double>(x.data(), 1, 2));
  v = tape.Relu(tape.Add(tape.MatMulTransposed(v, tape.Parameter(0)), tape.Parameter(1)));
  v = tape.Add(tape.MatMulTransposed(v, tape.Parameter(2)), tape.Parameter(3));
  tape.Backward(tape.SoftmaxCrossEntropy(v, labels));
  EXPECT_THAT(recorder.ready, ElementsAre(3, 2, 1, 0));
}

TEST(Tape, AFrozenParameterAndOneThatTheLossDoesNotDependOnGetNoGradient) {
  Module<double> module;
  module.AddParameter("frozen", {1, 2}, /*requires_grad=*/false);
  module.AddParameter("bias", {2});
  module.AddParameter("aside", {2});
  Recorder recorder(module);
  module.SetBackwardObserver(&recorder);
  const std::vector<int> labels = {1};
  Tape<double> tape(module);
  const Variable sum = tape.Add(tape.Parameter(0), tape.Parameter(1));
  tape.Add(sum, tape.Parameter(2));  // computed, but not part of the loss
  tape.Relu(tape.Parameter(1));      // nor is this, which must not keep "bias" waiting
  tape.Backward(tape.SoftmaxCrossEntropy(sum, labels));
  EXPECT_THAT(recorder.ready, ElementsAre(1));
  EXPECT_FALSE(module.HasGradient(0));
  EXPECT_TRUE(module.HasGradient(1));
  EXPECT_FALSE(module.HasGradient(2));
}

TEST(Tape, ALossOfFrozenParametersOnlyEndsItsBackwardAllTheSame) {
  Module<double> module;
  module.AddParameter("frozen", {1, 2}, /*requires_grad=*/false);
  Recorder recorder(module);
  module.SetBackwardObserver(&recorder);
  const std::vector<int> labels = {1};
  Tape<double> tape(module);
  tape.Backward(tape.SoftmaxCrossEntropy(tape.Parameter(0), labels));
  EXPECT_EQ(recorder.ends, 1);
  EXPECT_TRUE(recorder.ready.empty());
}

// A step of a network with two layers, on `rows` samples.
void Step(Tape<float>& tape, const std::vector<float>& x, absl::Span<const int> labels) {
  const Eigen::Index rows = labels.size();
  tape.Clear();
  Variable v = tape.Input(ConstMatrixView<float>(x.data(), rows, 16));
  v = tape.Relu(tape.Add(tape.MatMulTransposed(v, tape.Parameter(0)), tape.Parameter(1)));
  v = tape.Add(tape.MatMulTransposed(v, tape.Parameter(2)), tape.Parameter(3));
  tape.Backward(tape.SoftmaxCrossEntropy(v, labels));
}

TEST(Tape, AllocatesNothingOnceItHasSeenItsLargestBatchTwice) {
#ifdef LOCKSTEP_SANITIZER_MALLOC
  GTEST_SKIP() << "counts calls of malloc, which the sanitizer replaces";
#endif
  Module<float> module;
  module.AddParameter("fc1.weight", {32, 16});
  module.AddParameter("fc1.bias", {32});
  module.AddParameter("fc2.weight", {10, 32});
  module.AddParameter("fc2.bias", {10});
  const std::vector<float> x(64 * 16, 0.5f);
  const std::vector<int> labels(64, 3);
  Tape<float> tape(module);
  Step(tape, x, labels);
  Step(tape, x, labels);
  const int64_t before = allocations.load();
  for (int i = 0; i < 10; ++i) {
    Step(tape, x, absl::MakeConstSpan(labels).first(i % 3 == 0 ? 5 : 64));
  }
  EXPECT_EQ(allocations.load(), before);
}

TEST(TapeDeathTest, OperandsThatDoNotFitEndTheProgramWithBothShapes) {
  Module<double> module;
  module.AddParameter("a", {2, 3});
  module.AddParameter("b", {2, 4});
  Tape<double> tape(module);
  const Variable a = tape.Parameter(0), b = tape.Parameter(1);
  const std::vector<int> one_label = {0}, beyond = {0, 3}, negative = {0, -1};
  EXPECT_DEATH(tape.MatMul(a, b), "MatMul of 2x3 and 2x4");
  EXPECT_DEATH(tape.MatMulTransposed(a, b), "MatMulTransposed of 2x3 and 2x4");
  EXPECT_DEATH(tape.Add(a, b), "Add of 2x3 and 2x4");
  EXPECT_DEATH(tape.SoftmaxCrossEntropy(a, one_label), "one label a row");
  EXPECT_DEATH(tape.SoftmaxCrossEntropy(a, beyond), "label 3 of row 1");
  EXPECT_DEATH(tape.SoftmaxCrossEntropy(a, negative), "label -1 of row 1");
  EXPECT_DEATH(tape.SoftmaxCrossEntropy(tape.Input(ConstMatrixView<double>(nullptr, 0, 3)), {}), "mean of no rows");
}

TEST(TapeDeathTest, MisuseOfATapeEndsTheProgramWithTheRule) {
  Module<double> module;
  module.AddParameter("a", {1, 2});
  const std::vector<int> labels = {0};
  Tape<double> tape(module);
  const Variable a = tape.Parameter(0);
  EXPECT_DEATH(tape.Backward(a), "only a 1x1 is differentiated");
  const Variable loss = tape.SoftmaxCrossEntropy(a, labels);
  tape.Backward(loss);
  EXPECT_DEATH(tape.Backward(loss), "Backward twice");
  EXPECT_DEATH(tape.Relu(a), "cleared between Backward and the next forward");
  tape.Clear();
  EXPECT_DEATH(tape.Value(loss), "before Clear");
}

}  // namespace
}  // namespace nn
