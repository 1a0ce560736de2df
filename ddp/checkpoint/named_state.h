// What a checkpoint is made of.
#ifndef LOCKSTEP_DDP_CHECKPOINT_NAMED_STATE_H_
#define LOCKSTEP_DDP_CHECKPOINT_NAMED_STATE_H_

#include <string>

#include "ddp/stateful.h"

namespace lockstep {

// An object, not owned, and the word that the names of its state begin with in the file: "model" makes "model.fc1.weight" of
// "fc1.weight". a to z, 0 to 9 and _; "lockstep" is taken.
struct NamedState {
  std::string name;
  Stateful* state = nullptr;
};

}  // namespace lockstep

#endif  // LOCKSTEP_DDP_CHECKPOINT_NAMED_STATE_H_
