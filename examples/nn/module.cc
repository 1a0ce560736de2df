#include "examples/nn/module.h"

#include <algorithm>
#include <utility>

#include "absl/log/check.h"

namespace nn {

template <typename T>
int Module<T>::AddParameter(std::string name, std::vector<int64_t> shape, bool requires_grad) {
  CHECK_LE(shape.size(), 2u) << name;
  Parameter parameter = {};
  parameter.rows = shape.size() == 2 ? shape[0] : 1;
  parameter.columns = shape.empty() ? 1 : shape.back();
  parameter.own_value.resize(parameter.rows * parameter.columns);
  parameter.value = parameter.own_value.data();  // stays where it is when the vector is moved
  parameters_.push_back(std::move(parameter));
  infos_.push_back({std::move(name), std::move(shape), lockstep::kDTypeOf<T>, lockstep::Device(), requires_grad});
  return static_cast<int>(parameters_.size()) - 1;
}

template <typename T>
MatrixView<T> Module<T>::Value(int parameter) {
  Parameter& p = parameters_[parameter];
  return MatrixView<T>(p.value, p.rows, p.columns);
}

template <typename T>
ConstMatrixView<T> Module<T>::Value(int parameter) const {
  const Parameter& p = parameters_[parameter];
  return ConstMatrixView<T>(p.value, p.rows, p.columns);
}

template <typename T>
MatrixView<T> Module<T>::Gradient(int parameter) {
  Parameter& p = parameters_[parameter];
  if (p.gradient == nullptr) {  // no engine has bound it: this process trains alone
    p.own_gradient.resize(p.rows * p.columns);
    p.gradient = p.own_gradient.data();
  }
  return MatrixView<T>(p.gradient, p.rows, p.columns);
}

template <typename T>
void Module<T>::GradientReady(int parameter) {
  if (observer_ != nullptr) observer_->OnGradientReady(parameter, lockstep::Stream());
}

template <typename T>
void Module<T>::BackwardEnd() {
  if (observer_ != nullptr) observer_->OnBackwardEnd();
}

template <typename T>
lockstep::Buffer Module<T>::Parameter::Describe(T* data) const {
  return lockstep::Buffer{data, rows * columns, lockstep::kDTypeOf<T>, lockstep::Device()};
}

template <typename T>
lockstep::Buffer Module<T>::ParameterValue(int parameter) {
  return parameters_[parameter].Describe(parameters_[parameter].value);
}

template <typename T>
lockstep::Buffer Module<T>::BufferValue(int buffer) {
  LOG(FATAL) << "buffer " << buffer << " of a module that has none";
  return {};
}

template <typename T>
void Module<T>::BindGradient(int parameter, lockstep::Buffer storage) {
  Parameter& p = parameters_[parameter];
  T* const target = static_cast<T*>(storage.data);
  if (target == nullptr) p.has_gradient = false;
  if (p.has_gradient && target != p.gradient) std::copy_n(p.gradient, p.rows * p.columns, target);
  p.gradient = target;
  p.own_gradient = {};
}

template <typename T>
void Module<T>::BindValue(int parameter, lockstep::Buffer storage) {
  Parameter& p = parameters_[parameter];
  T* const target = static_cast<T*>(storage.data);
  if (target != p.value) std::copy_n(p.value, p.rows * p.columns, target);
  p.value = target;
  p.own_value = {};
}

template class Module<float>;
template class Module<double>;

}  // namespace nn
