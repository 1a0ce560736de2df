// Several objects' state as one: their tensors and values under one list of names. For the checkpoint manager alone.
#ifndef LOCKSTEP_DDP_CHECKPOINT_STATE_LIST_H_
#define LOCKSTEP_DDP_CHECKPOINT_STATE_LIST_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ddp/checkpoint/named_state.h"
#include "ddp/stateful.h"

namespace lockstep {

// A view of live objects, made for one save or one load.
class StateList {
 public:
  // INVALID_ARGUMENT: a prefix or tensor that cannot be saved; names it.
  static absl::StatusOr<StateList> Create(const std::vector<NamedState>& states);

  const std::vector<StateTensor>& tensors() const { return tensors_; }  // "model.fc1.weight"
  StateValues values() const;                                           // "sampler.epoch"
  // One line for each thing that must be equal on all ranks.
  std::vector<std::string> Describe() const;

  int64_t bytes() const { return bytes_; }
  // Exchanges what the tensors hold with `memory`, where they lie one after the other.
  void SwapTensors(char* memory) const;
  // All or nothing, as far as the objects keep to Stateful's contract.
  absl::Status SetValues(const StateValues& values) const;
  // Undoes SetValues: each object takes back what it gave.
  absl::Status RestoreValues(const StateValues& previous) const;

 private:
  explicit StateList(const std::vector<NamedState>& states) : states_(states) {}
  absl::Status Add(const NamedState& state);

  std::vector<NamedState> states_;
  std::vector<StateTensor> tensors_;
  int64_t bytes_ = 0;
};

}  // namespace lockstep

#endif  // LOCKSTEP_DDP_CHECKPOINT_STATE_LIST_H_
