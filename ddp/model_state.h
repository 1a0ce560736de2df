// A Model as something that a checkpoint saves: all its parameters and buffers, under their names.
//
//   ModelState state(model);
//   ABSL_RETURN_IF_ERROR(checkpoints->Save(epoch, {{"model", &state}}));
#ifndef LOCKSTEP_DDP_MODEL_STATE_H_
#define LOCKSTEP_DDP_MODEL_STATE_H_

#include <vector>

#include "absl/status/status.h"
#include "ddp/model.h"
#include "ddp/stateful.h"

namespace lockstep {

class ModelState final : public Stateful {
 public:
  // `model` outlives this.
  explicit ModelState(Model& model) : model_(model) {}

  // Where the values lie now: ask again after they were bound elsewhere.
  std::vector<StateTensor> StateTensors() override;
  StateValues GetStateValues() const override { return {}; }
  // DATA_LOSS if there is any: a model has tensors only.
  absl::Status SetStateValues(const StateValues& values) override;

 private:
  Model& model_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_DDP_MODEL_STATE_H_
