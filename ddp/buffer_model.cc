#include "ddp/buffer_model.h"

#include <cstring>
#include <utility>

#include "absl/log/check.h"

namespace lockstep {
namespace {

void Move(const Buffer& from, const Buffer& to) {
  if (from.data != nullptr && from.data != to.data) std::memcpy(to.data, from.data, static_cast<size_t>(to.bytes()));
}

}  // namespace

int BufferModel::AddParameter(std::string name, std::vector<int64_t> shape, Buffer value, bool requires_grad) {
  parameters_.push_back(ParameterInfo{std::move(name), std::move(shape), value.dtype, value.device, requires_grad});
  values_.push_back(value);
  gradients_.emplace_back();
  return static_cast<int>(parameters_.size()) - 1;
}

int BufferModel::AddBuffer(std::string name, std::vector<int64_t> shape, Buffer value) {
  buffers_.push_back(BufferInfo{std::move(name), std::move(shape), value.dtype, value.device});
  buffer_values_.push_back(value);
  return static_cast<int>(buffers_.size()) - 1;
}

void BufferModel::CheckType(int parameter, DType asked) const {
  const ParameterInfo& info = parameters_[parameter];
  CHECK(info.dtype == asked) << "BufferModel: parameter \"" << info.name << "\" is " << DTypeName(info.dtype)
                             << ", its gradient was asked for as " << DTypeName(asked);
}

void BufferModel::MarkReady(int parameter) {
  gradients_[parameter].written = true;
  if (observer_ != nullptr) observer_->OnGradientReady(parameter, Stream());
}

void BufferModel::EndBackward() {
  if (observer_ != nullptr) observer_->OnBackwardEnd();
}

void BufferModel::BindGradient(int parameter, Buffer storage) {
  GradientState& gradient = gradients_[parameter];
  if (storage.data == nullptr) gradient.written = false;
  if (gradient.written) Move(gradient.storage, storage);
  gradient.storage = storage;
}

void BufferModel::BindValue(int parameter, Buffer storage) {
  Move(values_[parameter], storage);
  values_[parameter] = storage;
}

}  // namespace lockstep
