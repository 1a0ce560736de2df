// What the tape costs beyond Eigen: forward and backward of one linear layer (input gradient included), beside the three
// matrix products it consists of, on the same memory layout. Arguments: batch, inputs, outputs.
#include <cmath>
#include <vector>

#include "absl/log/check.h"
#include "benchmark/benchmark.h"
#include "examples/nn/linear.h"
#include "examples/nn/module.h"
#include "examples/nn/random.h"
#include "examples/nn/tape.h"

namespace nn {
namespace {

struct Shape {
  Eigen::Index batch, inputs, outputs;
  explicit Shape(const benchmark::State& state) : batch(state.range(0)), inputs(state.range(1)), outputs(state.range(2)) {}
  // Multiplications and additions of the three products.
  double operations() const { return 6.0 * static_cast<double>(batch * inputs * outputs); }
};

void Report(benchmark::State& state, const Shape& shape) {
  state.counters["GFLOP/s"] = benchmark::Counter(shape.operations() * 1e-9, benchmark::Counter::kIsIterationInvariantRate);
}

// The layer's input is a parameter too, so that its gradient is computed, as in every layer but the first.
void BM_TapeLinear(benchmark::State& state) {
  const Shape shape(state);
  Module<float> module;
  Random random(1);
  module.AddParameter("x", {shape.batch, shape.inputs});
  const Linear<float> layer(module, "fc", shape.inputs, shape.outputs, random);
  const std::vector<int> labels(shape.batch, 0);
  Tape<float> tape(module);
  for (auto _ : state) {
    tape.Clear();
    for (int i = 0; i < 3; ++i) module.ClearGradient(i);
    tape.Backward(tape.SoftmaxCrossEntropy(layer(tape, tape.Parameter(0)), labels));
    benchmark::DoNotOptimize(module.Gradient(1).data());
  }
  // Each row of (softmax - one-hot) sums to zero, and so do the sums of its columns.
  CHECK_LT(std::abs(module.Gradient(2).sum()), 1e-4);
  Report(state, shape);
}

void BM_BareProducts(benchmark::State& state) {
  const Shape shape(state);
  Matrix<float> x = Matrix<float>::Zero(shape.batch, shape.inputs), dx = x;
  Matrix<float> w = Matrix<float>::Constant(shape.outputs, shape.inputs, 0.1f), dw = w;
  Matrix<float> y = Matrix<float>::Constant(shape.batch, shape.outputs, 0.1f);
  for (auto _ : state) {
    y.noalias() = x * w.transpose();
    dw.noalias() = y.transpose() * x;
    dx.noalias() = y * w;
    benchmark::DoNotOptimize(dx.data());
  }
  Report(state, shape);
}

void Shapes(benchmark::internal::Benchmark* benchmark) {
  benchmark->Args({1, 8, 8})->Args({32, 64, 128})->Args({64, 256, 256})->Args({64, 1024, 1024})->Args({256, 1024, 1024});
}

BENCHMARK(BM_TapeLinear)->Apply(Shapes);
BENCHMARK(BM_BareProducts)->Apply(Shapes);

}  // namespace
}  // namespace nn

BENCHMARK_MAIN();
