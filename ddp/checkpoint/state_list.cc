#include "ddp/checkpoint/state_list.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/status/status_macros.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "ddp/checkpoint/safetensors.h"

namespace lockstep {
namespace {

bool IsPrefix(absl::string_view name) {
  return !name.empty() && name != "lockstep" && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  });
}

// -1: negative, or more than 64 bits can count.
int64_t ElementsIn(const std::vector<int64_t>& shape) {
  int64_t count = 1;
  for (const int64_t dimension : shape) {
    if (dimension < 0 || __builtin_mul_overflow(count, dimension, &count)) return -1;
  }
  return count;
}

absl::Status CheckTensor(const StateTensor& tensor) {
  if (tensor.data.device.type != DeviceType::kCpu) {
    return absl::InvalidArgumentError(absl::StrCat("tensor ", QuotedName(tensor.name), " is on ",
                                                   DeviceName(tensor.data.device), "; checkpoints save CPU memory"));
  }
  if (tensor.data.count == ElementsIn(tensor.shape)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("tensor ", QuotedName(tensor.name), " of shape ", ShapeText(tensor.shape),
                                                 " has ", tensor.data.count, " elements"));
}

// The values of one object, without its prefix.
StateValues Select(const StateValues& values, const std::string& prefix) {
  StateValues selected;
  for (auto it = values.lower_bound(prefix); it != values.end() && it->first.compare(0, prefix.size(), prefix) == 0; ++it) {
    selected.emplace(it->first.substr(prefix.size()), it->second);
  }
  return selected;
}

absl::Status SetValuesOf(const NamedState& state, const StateValues& values) {
  const absl::Status status = state.state->SetStateValues(Select(values, absl::StrCat(state.name, ".")));
  return status.ok() ? status : absl::Status(status.code(), absl::StrCat("state \"", state.name, "\": ", status.message()));
}

}  // namespace

absl::StatusOr<StateList> StateList::Create(const std::vector<NamedState>& states) {
  StateList list(states);
  std::set<std::string> prefixes;
  for (const NamedState& state : states) {
    if (!IsPrefix(state.name) || state.state == nullptr || !prefixes.insert(state.name).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("state ", QuotedName(state.name),
                       " is null, or its name is used twice, is \"lockstep\", or has other characters than a-z 0-9 _"));
    }
    ABSL_RETURN_IF_ERROR(list.Add(state));
  }
  std::set<absl::string_view> names;
  for (const StateTensor& tensor : list.tensors_) {
    if (names.insert(tensor.name).second) continue;
    return absl::InvalidArgumentError(absl::StrCat("two tensors are named ", QuotedName(tensor.name)));
  }
  return list;
}

absl::Status StateList::Add(const NamedState& state) {
  for (StateTensor& tensor : state.state->StateTensors()) {
    tensor.name = absl::StrCat(state.name, ".", tensor.name);
    ABSL_RETURN_IF_ERROR(CheckTensor(tensor));
    bytes_ += tensor.data.bytes();
    tensors_.push_back(std::move(tensor));
  }
  return absl::OkStatus();
}

StateValues StateList::values() const {
  StateValues all;
  for (const NamedState& state : states_) {
    for (const auto& [key, value] : state.state->GetStateValues()) all.emplace(absl::StrCat(state.name, ".", key), value);
  }
  return all;
}

std::vector<std::string> StateList::Describe() const {
  std::vector<std::string> lines;
  for (const NamedState& state : states_) lines.push_back(absl::StrCat("state \"", state.name, "\""));
  for (const StateTensor& tensor : tensors_) {
    lines.push_back(
        absl::StrCat("tensor ", QuotedName(tensor.name), " ", DTypeName(tensor.data.dtype), ShapeText(tensor.shape)));
  }
  return lines;
}

void StateList::SwapTensors(char* memory) const {
  for (const StateTensor& tensor : tensors_) {
    char* const live = static_cast<char*>(tensor.data.data);
    std::swap_ranges(live, live + tensor.data.bytes(), memory);
    memory += tensor.data.bytes();
  }
}

absl::Status StateList::SetValues(const StateValues& values) const {
  for (const auto& [key, value] : values) {
    const bool owned = std::any_of(states_.begin(), states_.end(), [&key = key](const NamedState& state) {
      return absl::StartsWith(key, absl::StrCat(state.name, "."));
    });
    if (owned) continue;
    return absl::FailedPreconditionError(
        absl::StrCat("value ", QuotedName(key), " is in the file, but not in what is to be loaded"));
  }
  const StateValues previous = this->values();
  for (size_t i = 0; i < states_.size(); ++i) {
    const absl::Status status = SetValuesOf(states_[i], values);
    if (status.ok()) continue;
    while (i > 0) ABSL_RETURN_IF_ERROR(SetValuesOf(states_[--i], previous));
    return status;
  }
  return absl::OkStatus();
}

absl::Status StateList::RestoreValues(const StateValues& previous) const {
  for (const NamedState& state : states_) ABSL_RETURN_IF_ERROR(SetValuesOf(state, previous));
  return absl::OkStatus();
}

}  // namespace lockstep
