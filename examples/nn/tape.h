// Reverse-mode automatic differentiation: records what forward computes, and walks back over it.
//
//   nn::Tape<float> tape(net);                                  // kept for the whole training
//   for (...) {
//     tape.Clear();                                             // forgets the last step, keeps its memory
//     nn::Variable logits = net(tape, tape.Input(images));
//     nn::Variable loss = tape.SoftmaxCrossEntropy(logits, labels);
//     tape.Backward(loss);                                      // writes or adds to the gradients of net
//   }
//
// A parameter's gradient is computed in the very memory that the engine has bound for it, and the engine hears of it the
// moment its last contribution is in, while backward goes on.
//
// A tape belongs to one module, which outlives it, and to one thread. Once it has seen its largest batch twice it allocates no
// more (Eigen itself may, for matrix products whose packed blocks exceed 128 KiB). Operands whose shapes do not fit are a bug of
// the program, and end it with both shapes.
#ifndef LOCKSTEP_EXAMPLES_NN_TAPE_H_
#define LOCKSTEP_EXAMPLES_NN_TAPE_H_

#include <cstddef>
#include <vector>

#include "absl/types/span.h"
#include "examples/nn/matrix.h"
#include "examples/nn/module.h"

namespace nn {

// A matrix on a tape, valid until the tape is cleared.
struct Variable {
  int index = -1;
};

// T is float or double.
template <typename T>
class Tape {
 public:
  explicit Tape(Module<T>& module);
  Tape(const Tape&) = delete;
  Tape& operator=(const Tape&) = delete;

  // Data, without a gradient. Not copied: unchanged until Backward is over.
  Variable Input(ConstMatrixView<T> value);
  // A parameter of the module; asked for twice, it is the same variable.
  Variable Parameter(int parameter);

  // a b; and a b^T, which is how a layer applies its [out, in] weight.
  Variable MatMul(Variable a, Variable b);
  Variable MatMulTransposed(Variable a, Variable b);
  // a + b, where b has the shape of a or is one row, added to each of a's (a bias).
  Variable Add(Variable a, Variable b);
  // max(a, 0); its derivative at 0 is 0.
  Variable Relu(Variable a);
  // The mean over rows of -log softmax(row)[label], a 1x1. One label in [0, columns) a row, at least one row. Labels are not
  // copied: unchanged until Backward is over.
  Variable SoftmaxCrossEntropy(Variable logits, absl::Span<const int> labels);

  // Read it before Clear.
  ConstMatrixView<T> Value(Variable variable) const;

  // Differentiates `loss`, a 1x1, by every parameter it depends on and that requires a gradient. A gradient that exists is
  // added to. Once a Clear: it consumes what forward recorded.
  void Backward(Variable loss);
  void Clear();

 private:
  enum class Operation { kInput, kParameter, kMatMul, kMatMulTransposed, kAdd, kRelu, kSoftmaxCrossEntropy };

  struct Node {
    Operation operation;
    int a, b;                      // operands' positions; -1: none
    int parameter;                 // kParameter: which
    absl::Span<const int> labels;  // kSoftmaxCrossEntropy
    bool requires_grad;            // some parameter below it does
    Eigen::Index rows, columns;
    const T* value;  // own_value, or where an input or parameter lies
    std::vector<T> own_value, own_gradient;
    std::vector<T> probabilities;  // kSoftmaxCrossEntropy: softmax of its logits
    int missing;                   // contributions to the gradient that are still to come
    bool has_gradient;

    ConstMatrixView<T> Value() const { return ConstMatrixView<T>(value, rows, columns); }
    MatrixView<T> OwnValue() { return MatrixView<T>(own_value.data(), rows, columns); }
    ConstMatrixView<T> Gradient() const { return ConstMatrixView<T>(own_gradient.data(), rows, columns); }
  };

  Node& Append(Operation operation, Eigen::Index rows, Eigen::Index columns, int a, int b);
  Node& AppendResult(Operation operation, Eigen::Index rows, Eigen::Index columns, int a, int b = -1);
  Variable Last() const { return Variable{static_cast<int>(size_) - 1}; }

  void CountContributions(int loss);
  void BackwardThrough(Node& node);
  void BackwardMatMul(const Node& node);
  void BackwardMatMulTransposed(const Node& node);
  void BackwardAdd(Node& node);
  void BackwardSoftmaxCrossEntropy(Node& node);

  // Writes `gradient`, an Eigen expression, to an operand's gradient or adds it there, and tells the engine when that was a
  // parameter's last.
  template <typename Expression>
  void Contribute(int operand, const Expression& gradient);
  void CountContribution(Node& node);

  Module<T>& module_;
  std::vector<Node> nodes_;  // the first size_ are in use; the others keep their memory for the next step
  size_t size_ = 0;
  std::vector<int> node_of_parameter_;  // -1: not on the tape
  bool differentiated_ = false;
};

}  // namespace nn

#endif  // LOCKSTEP_EXAMPLES_NN_TAPE_H_
