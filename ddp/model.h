// What the engine needs of a training framework, and all it needs. Implement it over your tensors (examples/nn does it in a
// page), or use BufferModel (buffer_model.h) if your code has no autograd.
//
// The life of a gradient: the engine calls BindGradient once, so that it lies in a bucket that the transport reduces; every
// backward writes it there and calls OnGradientReady as soon as it is final; the engine averages it over the ranks in place;
// the optimizer reads it there. Nothing is copied.
//
// Parameters and buffers are named by their position, which never changes. A parameter used twice (tied weights) is one
// parameter. Bindings change only between steps; contents move with them, and raw pointers taken before are then invalid.
#ifndef LOCKSTEP_DDP_MODEL_H_
#define LOCKSTEP_DDP_MODEL_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "transports/buffer.h"
#include "transports/transport.h"

namespace lockstep {

struct ParameterInfo {
  std::string name;            // unique, as checkpoints and errors show it: "fc1.weight"
  std::vector<int64_t> shape;  // row-major; {} is a scalar
  DType dtype = DType::kF32;
  Device device;
  bool requires_grad = true;  // false: frozen, no gradient is ever bound or awaited
};

// State that no gradient trains, e.g. BatchNorm statistics.
struct BufferInfo {
  std::string name;
  std::vector<int64_t> shape;
  DType dtype = DType::kF32;
  Device device;
};

// Told by a Model how its backward proceeds. The engine implements it.
class BackwardObserver {
 public:
  virtual ~BackwardObserver() = default;
  // The gradient of `parameter` is final for this backward; on a device, once `stream` has come this far. Any thread,
  // several at once, but one call at a time a parameter. Allocates nothing, takes no lock, waits for nothing.
  virtual void OnGradientReady(int parameter, Stream stream) = 0;
  // The backward is over: no further OnGradientReady comes from it.
  virtual void OnBackwardEnd() = 0;
};

class Model {
 public:
  virtual ~Model() = default;

  // The same for the model's whole life.
  virtual absl::Span<const ParameterInfo> parameters() const = 0;
  virtual absl::Span<const BufferInfo> buffers() const = 0;

  // Where a parameter's or buffer's value lies now. The engine writes it once, at construction (rank 0's state).
  virtual Buffer ParameterValue(int parameter) = 0;
  virtual Buffer BufferValue(int buffer) = 0;

  // "Put this gradient there": `storage` has the parameter's count, dtype and device, is zero, and outlives the binding. A
  // gradient that exists is moved along. A storage whose data is null unbinds: the gradient is gone, as after ClearGradient.
  virtual void BindGradient(int parameter, Buffer storage) = 0;
  // The same for the value (sharded optimizers push into it); contents are moved along.
  virtual void BindValue(int parameter, Buffer storage) = 0;

  // Whether a backward has written the gradient since it was last cleared. After ClearGradient the next backward overwrites
  // what lies there (it need not be zeroed), the ones after it add.
  virtual bool HasGradient(int parameter) const = 0;
  virtual void ClearGradient(int parameter) = 0;
  // The engine has filled the gradient's memory itself (a rank without samples takes the average of the others).
  virtual void MarkGradientWritten(int parameter) = 0;

  // Null: nobody listens any more. At most one at a time; outlives its registration.
  virtual void SetBackwardObserver(BackwardObserver* observer) = 0;
};

}  // namespace lockstep

#endif  // LOCKSTEP_DDP_MODEL_H_
