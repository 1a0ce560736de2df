// Something whose state a checkpoint saves: parameters, optimizer moments, a sampler's position.
#ifndef LOCKSTEP_DDP_STATEFUL_H_
#define LOCKSTEP_DDP_STATEFUL_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "transports/buffer.h"

namespace lockstep {

// A view of live state: saving reads it, loading writes it.
struct StateTensor {
  std::string name;  // unique within its object: "fc1.weight", "momentum.fc1.weight"
  std::vector<int64_t> shape;
  Buffer data;
};

// Small values, as text: "epoch" -> "3".
using StateValues = std::map<std::string, std::string>;

// Implemented by what a CheckpointManager is handed. Called by one thread at a time, between steps.
class Stateful {
 public:
  virtual ~Stateful() = default;

  // The same names, shapes and dtypes on every rank and at every call.
  virtual std::vector<StateTensor> StateTensors() = 0;
  virtual StateValues GetStateValues() const = 0;
  // All or nothing: on an error the object is as before. Tensors are checked and written by the loader, before this call.
  virtual absl::Status SetStateValues(const StateValues& values) = 0;
};

}  // namespace lockstep

#endif  // LOCKSTEP_DDP_STATEFUL_H_
