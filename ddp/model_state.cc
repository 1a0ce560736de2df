#include "ddp/model_state.h"

#include <cstddef>

#include "absl/strings/str_cat.h"

namespace lockstep {

std::vector<StateTensor> ModelState::StateTensors() {
  std::vector<StateTensor> tensors;
  const auto parameters = model_.parameters();
  for (size_t i = 0; i < parameters.size(); ++i) {
    tensors.push_back({parameters[i].name, parameters[i].shape, model_.ParameterValue(static_cast<int>(i))});
  }
  const auto buffers = model_.buffers();
  for (size_t i = 0; i < buffers.size(); ++i) {
    tensors.push_back({buffers[i].name, buffers[i].shape, model_.BufferValue(static_cast<int>(i))});
  }
  return tensors;
}

absl::Status ModelState::SetStateValues(const StateValues& values) {
  if (values.empty()) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat("a model has no values, but \"", values.begin()->first, "\" was saved"));
}

}  // namespace lockstep
