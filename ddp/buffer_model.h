// A Model for code that has no autograd: named arrays, and calls that say when a gradient is written.
//
//   std::vector<float> weight(1000);
//   BufferModel model;
//   int w = model.AddParameter("weight", {1000}, MakeBuffer(absl::MakeSpan(weight)));
//   ABSL_ASSIGN_OR_RETURN(auto ddp, DistributedDataParallel::Create(group, model));    // binds the gradients
//   DdpStep step = ddp.BeginStep();
//   absl::Span<float> g = model.Gradient<float>(w);      // a slice of a bucket: write it there
//   for (int i = 0; i < 1000; ++i) g[i] = model.HasGradient(w) ? g[i] + dw(i) : dw(i);
//   model.MarkReady(w);                                  // its bucket may be reduced from now on
//   model.EndBackward();
//   ABSL_RETURN_IF_ERROR(step.Finish());                 // g is the average over all ranks
//
// Values and buffers belong to the caller and outlive the model. MarkReady may be called from any thread, for different
// parameters at once; everything else by one thread.
#ifndef LOCKSTEP_DDP_BUFFER_MODEL_H_
#define LOCKSTEP_DDP_BUFFER_MODEL_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "ddp/model.h"

namespace lockstep {

class BufferModel final : public Model {
 public:
  // Return the position of what was added. To be called before the engine sees the model. `value.count` must be the product
  // of `shape`.
  int AddParameter(std::string name, std::vector<int64_t> shape, Buffer value, bool requires_grad = true);
  int AddBuffer(std::string name, std::vector<int64_t> shape, Buffer value);

  // Where the gradient goes; empty until the engine has bound it. Ends the program if T is not the parameter's type.
  template <typename T>
  absl::Span<T> Gradient(int parameter) const {
    CheckType(parameter, kDTypeOf<T>);
    const Buffer& gradient = gradients_[parameter].storage;
    return absl::MakeSpan(static_cast<T*>(gradient.data), gradient.data == nullptr ? 0 : gradient.count);
  }
  // The gradient is final for this backward.
  void MarkReady(int parameter);
  // All gradients of this backward are.
  void EndBackward();

  absl::Span<const ParameterInfo> parameters() const override { return parameters_; }
  absl::Span<const BufferInfo> buffers() const override { return buffers_; }
  Buffer ParameterValue(int parameter) override { return values_[parameter]; }
  Buffer BufferValue(int buffer) override { return buffer_values_[buffer]; }
  void BindGradient(int parameter, Buffer storage) override;
  void BindValue(int parameter, Buffer storage) override;
  bool HasGradient(int parameter) const override { return gradients_[parameter].written; }
  void ClearGradient(int parameter) override { gradients_[parameter].written = false; }
  void MarkGradientWritten(int parameter) override { gradients_[parameter].written = true; }
  void SetBackwardObserver(BackwardObserver* observer) override { observer_ = observer; }

 private:
  void CheckType(int parameter, DType asked) const;

  struct GradientState {
    Buffer storage;
    bool written = false;  // by one thread a parameter, read between steps
  };

  std::vector<ParameterInfo> parameters_;
  std::vector<Buffer> values_;
  std::vector<GradientState> gradients_;
  std::vector<BufferInfo> buffers_;
  std::vector<Buffer> buffer_values_;
  BackwardObserver* observer_ = nullptr;
};

}  // namespace lockstep

#endif  // LOCKSTEP_DDP_BUFFER_MODEL_H_
