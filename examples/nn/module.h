// A network's parameters: named matrices, with their gradients. This is all that it takes to be trained by Lockstep from a
// framework of one's own: everything below the line "lockstep::Model" answers the engine.
//
//   class Net : public nn::Module<float> {
//    public:
//     explicit Net(nn::Random& random) : fc1_(*this, "fc1", 64, 128, random), fc2_(*this, "fc2", 128, 10, random) {}
//     nn::Variable operator()(nn::Tape<float>& tape, nn::Variable x) const { return fc2_(tape, tape.Relu(fc1_(tape, x))); }
//    private:
//     nn::Linear<float> fc1_, fc2_;
//   };
//
// Owns values and, until an engine binds them into its buckets, gradients. Parameters are numbered in the order they are
// added, all before training starts. One thread at a time. What a caller gets wrong here (a shape, a position) is a bug in the
// program, and ends it.
#ifndef LOCKSTEP_EXAMPLES_NN_MODULE_H_
#define LOCKSTEP_EXAMPLES_NN_MODULE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "ddp/model.h"
#include "examples/nn/matrix.h"

namespace nn {

// T is float or double.
template <typename T>
class Module : public lockstep::Model {
 public:
  Module() = default;
  Module(const Module&) = delete;  // layers know their module by its address
  Module& operator=(const Module&) = delete;

  // A parameter of zeros; `shape` has at most two dimensions. Returns its position.
  int AddParameter(std::string name, std::vector<int64_t> shape, bool requires_grad = true);

  MatrixView<T> Value(int parameter);
  ConstMatrixView<T> Value(int parameter) const;
  // To be read where HasGradient; undefined elsewhere.
  MatrixView<T> Gradient(int parameter);

  // For the tape's backward: it writes Gradient(parameter), then says so.
  void GradientReady(int parameter);
  void BackwardEnd();

  // lockstep::Model
  absl::Span<const lockstep::ParameterInfo> parameters() const override { return infos_; }
  absl::Span<const lockstep::BufferInfo> buffers() const override { return {}; }
  lockstep::Buffer ParameterValue(int parameter) override;
  lockstep::Buffer BufferValue(int buffer) override;
  void BindGradient(int parameter, lockstep::Buffer storage) override;
  void BindValue(int parameter, lockstep::Buffer storage) override;
  bool HasGradient(int parameter) const override { return parameters_[parameter].has_gradient; }
  void ClearGradient(int parameter) override { parameters_[parameter].has_gradient = false; }
  void MarkGradientWritten(int parameter) override { parameters_[parameter].has_gradient = true; }
  void SetBackwardObserver(lockstep::BackwardObserver* observer) override { observer_ = observer; }

 private:
  struct Parameter {
    Eigen::Index rows, columns;
    std::vector<T> own_value, own_gradient;  // empty once bound to other memory
    T* value;
    T* gradient;  // null: no memory yet
    bool has_gradient;

    lockstep::Buffer Describe(T* data) const;
  };

  std::vector<lockstep::ParameterInfo> infos_;
  std::vector<Parameter> parameters_;
  lockstep::BackwardObserver* observer_ = nullptr;
};

}  // namespace nn

#endif  // LOCKSTEP_EXAMPLES_NN_MODULE_H_
