// What turns gradients into steps: stochastic gradient descent and Adam, with the meaning they have in torch.optim.
//
//   nn::Sgd<float> optimizer(net, {.learning_rate = 0.1, .momentum = 0.9});
//   tape.Backward(loss);
//   optimizer.Step();
//
// Both read the module's gradients where they lie, skip parameters without one, and leave gradients alone: the next backward
// overwrites them where an engine drives the steps; a program without one calls module.ClearGradient.
//
// Their state has one tensor a parameter and kind, "momentum.fc1.weight", so a checkpoint of one optimizer is refused by the
// other. Hyper-parameters are not part of it: the program that resumes gives its own. The module outlives them, and has all its
// parameters when they are made. One thread at a time.
#ifndef LOCKSTEP_EXAMPLES_NN_OPTIMIZER_H_
#define LOCKSTEP_EXAMPLES_NN_OPTIMIZER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "ddp/stateful.h"
#include "examples/nn/module.h"

namespace nn {

// T is float or double.
template <typename T>
class Optimizer : public lockstep::Stateful {
 public:
  // Changes every parameter that has a gradient.
  virtual void Step() = 0;

  lockstep::StateValues GetStateValues() const override { return {}; }
  // DATA_LOSS if there is any: an optimizer has tensors only.
  absl::Status SetStateValues(const lockstep::StateValues& values) override;

 protected:
  explicit Optimizer(Module<T>& module) : module_(module) {}

  // One zero a parameter's element, for every parameter that is trained; empty for the others.
  std::vector<std::vector<T>> Zeros() const;
  // Views of such state, named KIND.PARAMETER.
  void Describe(absl::string_view kind, std::vector<std::vector<T>>& state, std::vector<lockstep::StateTensor>& tensors);

  Module<T>& module_;
};

struct SgdOptions {
  double learning_rate = 0.01;
  double momentum = 0;      // 0: plain gradient descent, which keeps no state
  double weight_decay = 0;  // added to the gradient, times the value (an L2 penalty)
};

// g += weight_decay w;  m = momentum m + g (the first m is g);  w -= learning_rate m.
template <typename T>
class Sgd final : public Optimizer<T> {
 public:
  explicit Sgd(Module<T>& module, const SgdOptions& options = {});
  void Step() override;
  std::vector<lockstep::StateTensor> StateTensors() override;

 private:
  const SgdOptions options_;
  std::vector<std::vector<T>> momentum_;  // empty where options_.momentum is 0
};

struct AdamOptions {
  double learning_rate = 0.001;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0;  // added to the gradient, times the value (an L2 penalty)
};

// g += weight_decay w;  m = beta1 m + (1 - beta1) g;  v = beta2 v + (1 - beta2) g^2;
// w -= learning_rate / (1 - beta1^t) m / (sqrt(v / (1 - beta2^t)) + epsilon), where t counts the parameter's steps.
template <typename T>
class Adam final : public Optimizer<T> {
 public:
  explicit Adam(Module<T>& module, const AdamOptions& options = {});
  void Step() override;
  std::vector<lockstep::StateTensor> StateTensors() override;

 private:
  const AdamOptions options_;
  std::vector<std::vector<T>> exp_avg_, exp_avg_sq_;  // m and v, under PyTorch's names
  std::vector<int64_t> steps_;
};

}  // namespace nn

#endif  // LOCKSTEP_EXAMPLES_NN_OPTIMIZER_H_
