#include "examples/nn/optimizer.h"

#include <cmath>

#include "absl/strings/str_cat.h"

namespace nn {
namespace {

// All of them work element by element, so shapes do not matter here.
template <typename T>
using ArrayView = Eigen::Map<Eigen::Array<T, Eigen::Dynamic, 1>>;

template <typename T>
ArrayView<T> Elements(MatrixView<T> matrix) {
  return ArrayView<T>(matrix.data(), matrix.size());
}

template <typename T>
ArrayView<T> Elements(std::vector<T>& values) {
  return ArrayView<T>(values.data(), static_cast<Eigen::Index>(values.size()));
}

}  // namespace

template <typename T>
absl::Status Optimizer<T>::SetStateValues(const lockstep::StateValues& values) {
  if (values.empty()) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat("an optimizer has no state but its tensors; the checkpoint also gives it \"",
                                          values.begin()->first, "\""));
}

template <typename T>
std::vector<std::vector<T>> Optimizer<T>::Zeros() const {
  std::vector<std::vector<T>> state;
  for (const lockstep::ParameterInfo& info : module_.parameters()) {
    state.emplace_back(info.requires_grad ? module_.Value(static_cast<int>(state.size())).size() : 0);
  }
  return state;
}

template <typename T>
void Optimizer<T>::Describe(absl::string_view kind, std::vector<std::vector<T>>& state,
                            std::vector<lockstep::StateTensor>& tensors) {
  for (size_t i = 0; i < state.size(); ++i) {
    const lockstep::ParameterInfo& info = module_.parameters()[i];
    if (!info.requires_grad) continue;
    tensors.push_back({absl::StrCat(kind, ".", info.name), info.shape, lockstep::MakeBuffer(absl::MakeSpan(state[i]))});
  }
}

// --- Sgd ---

template <typename T>
Sgd<T>::Sgd(Module<T>& module, const SgdOptions& options)
    : Optimizer<T>(module),
      options_(options),
      momentum_(options.momentum != 0 ? this->Zeros() : std::vector<std::vector<T>>()) {}

template <typename T>
void Sgd<T>::Step() {
  const T learning_rate = static_cast<T>(options_.learning_rate);
  const T weight_decay = static_cast<T>(options_.weight_decay);
  for (int i = 0; i < static_cast<int>(this->module_.parameters().size()); ++i) {
    if (!this->module_.HasGradient(i)) continue;
    ArrayView<T> value = Elements<T>(this->module_.Value(i));
    const auto gradient = Elements<T>(this->module_.Gradient(i)) + weight_decay * value;
    if (momentum_.empty()) {
      value -= learning_rate * gradient;
    } else {
      ArrayView<T> momentum = Elements(momentum_[i]);
      momentum = static_cast<T>(options_.momentum) * momentum + gradient;
      value -= learning_rate * momentum;
    }
  }
}

template <typename T>
std::vector<lockstep::StateTensor> Sgd<T>::StateTensors() {
  std::vector<lockstep::StateTensor> tensors;
  this->Describe("momentum", momentum_, tensors);
  return tensors;
}

// --- Adam ---

template <typename T>
Adam<T>::Adam(Module<T>& module, const AdamOptions& options)
    : Optimizer<T>(module),
      options_(options),
      exp_avg_(this->Zeros()),
      exp_avg_sq_(this->Zeros()),
      steps_(module.parameters().size()) {}

template <typename T>
void Adam<T>::Step() {
  const T beta1 = static_cast<T>(options_.beta1);
  const T beta2 = static_cast<T>(options_.beta2);
  for (int i = 0; i < static_cast<int>(steps_.size()); ++i) {
    if (!this->module_.HasGradient(i)) continue;
    const double t = static_cast<double>(++steps_[i]);
    const T rate = static_cast<T>(options_.learning_rate / (1 - std::pow(options_.beta1, t)));
    const T root_correction = static_cast<T>(std::sqrt(1 - std::pow(options_.beta2, t)));
    ArrayView<T> value = Elements<T>(this->module_.Value(i));
    ArrayView<T> m = Elements(exp_avg_[i]);
    ArrayView<T> v = Elements(exp_avg_sq_[i]);
    const auto gradient = Elements<T>(this->module_.Gradient(i)) + static_cast<T>(options_.weight_decay) * value;
    m = beta1 * m + (1 - beta1) * gradient;
    v = beta2 * v + (1 - beta2) * gradient.square();
    value -= rate * m / (v.sqrt() / root_correction + static_cast<T>(options_.epsilon));
  }
}

template <typename T>
std::vector<lockstep::StateTensor> Adam<T>::StateTensors() {
  std::vector<lockstep::StateTensor> tensors;
  this->Describe("exp_avg", exp_avg_, tensors);
  this->Describe("exp_avg_sq", exp_avg_sq_, tensors);
  for (size_t i = 0; i < steps_.size(); ++i) {
    const lockstep::ParameterInfo& info = this->module_.parameters()[i];
    if (!info.requires_grad) continue;
    tensors.push_back({absl::StrCat("step.", info.name), {}, lockstep::MakeBuffer(absl::MakeSpan(&steps_[i], 1))});
  }
  return tensors;
}

template class Optimizer<float>;
template class Optimizer<double>;
template class Sgd<float>;
template class Sgd<double>;
template class Adam<float>;
template class Adam<double>;

}  // namespace nn
