// Backward visits nodes in the reverse of the order they were recorded in, so each is visited after all that use it. Example:
// y = relu(x W^T + b), recorded as x, W, x W^T, b, +, relu. The walk starts at relu; "+" hands its gradient on to the product
// and sums it over rows for b, which is thereby final and reported; the product first computes W's gradient, reports it, and
// only then would compute x's (which is data and needs none).
#include "examples/nn/tape.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "absl/log/check.h"
#include "absl/strings/str_cat.h"

namespace nn {
namespace {

// Grows only, so that a short batch gives no memory back.
template <typename T>
void Reserve(std::vector<T>& memory, Eigen::Index rows, Eigen::Index columns) {
  const size_t size = static_cast<size_t>(rows * columns);
  if (memory.size() < size) memory.resize(size);
}

template <typename A, typename B>
std::string Shapes(const A& a, const B& b) {
  return absl::StrCat(a.rows(), "x", a.cols(), " and ", b.rows(), "x", b.cols());
}

}  // namespace

template <typename T>
Tape<T>::Tape(Module<T>& module) : module_(module), node_of_parameter_(module.parameters().size(), -1) {}

template <typename T>
void Tape<T>::Clear() {
  size_ = 0;
  std::fill(node_of_parameter_.begin(), node_of_parameter_.end(), -1);
  differentiated_ = false;
}

// --- Forward ---

template <typename T>
typename Tape<T>::Node& Tape<T>::Append(Operation operation, Eigen::Index rows, Eigen::Index columns, int a, int b) {
  CHECK(!differentiated_) << "a tape is cleared between Backward and the next forward";
  if (size_ == nodes_.size()) nodes_.emplace_back();
  Node& node = nodes_[size_++];
  node.operation = operation;
  node.a = a;
  node.b = b;
  node.rows = rows;
  node.columns = columns;
  node.requires_grad = (a >= 0 && nodes_[a].requires_grad) || (b >= 0 && nodes_[b].requires_grad);
  node.missing = 0;
  node.has_gradient = false;
  return node;
}

template <typename T>
typename Tape<T>::Node& Tape<T>::AppendResult(Operation operation, Eigen::Index rows, Eigen::Index columns, int a, int b) {
  Node& node = Append(operation, rows, columns, a, b);
  Reserve(node.own_value, rows, columns);
  node.value = node.own_value.data();
  return node;
}

template <typename T>
Variable Tape<T>::Input(ConstMatrixView<T> value) {
  Append(Operation::kInput, value.rows(), value.cols(), -1, -1).value = value.data();
  return Last();
}

template <typename T>
Variable Tape<T>::Parameter(int parameter) {
  int& position = node_of_parameter_.at(parameter);
  if (position >= 0) return Variable{position};
  const MatrixView<T> value = module_.Value(parameter);
  Node& node = Append(Operation::kParameter, value.rows(), value.cols(), -1, -1);
  node.parameter = parameter;
  node.value = value.data();
  node.requires_grad = module_.parameters()[parameter].requires_grad;
  position = Last().index;
  return Last();
}

template <typename T>
Variable Tape<T>::MatMul(Variable a, Variable b) {
  const ConstMatrixView<T> left = Value(a), right = Value(b);
  CHECK_EQ(left.cols(), right.rows()) << "MatMul of " << Shapes(left, right);
  AppendResult(Operation::kMatMul, left.rows(), right.cols(), a.index, b.index).OwnValue().noalias() = left * right;
  return Last();
}

template <typename T>
Variable Tape<T>::MatMulTransposed(Variable a, Variable b) {
  const ConstMatrixView<T> left = Value(a), right = Value(b);
  CHECK_EQ(left.cols(), right.cols()) << "MatMulTransposed of " << Shapes(left, right);
  Node& node = AppendResult(Operation::kMatMulTransposed, left.rows(), right.rows(), a.index, b.index);
  node.OwnValue().noalias() = left * right.transpose();
  return Last();
}

template <typename T>
Variable Tape<T>::Add(Variable a, Variable b) {
  const ConstMatrixView<T> left = Value(a), right = Value(b);
  CHECK(left.cols() == right.cols() && (right.rows() == left.rows() || right.rows() == 1))
      << "Add of " << Shapes(left, right);
  Node& node = AppendResult(Operation::kAdd, left.rows(), left.cols(), a.index, b.index);
  if (right.rows() == left.rows()) {
    node.OwnValue() = left + right;
  } else {
    node.OwnValue() = left.rowwise() + right.row(0);
  }
  return Last();
}

template <typename T>
Variable Tape<T>::Relu(Variable a) {
  const ConstMatrixView<T> value = Value(a);
  AppendResult(Operation::kRelu, value.rows(), value.cols(), a.index).OwnValue() = value.cwiseMax(T{0});
  return Last();
}

template <typename T>
Variable Tape<T>::SoftmaxCrossEntropy(Variable logits, absl::Span<const int> labels) {
  const ConstMatrixView<T> x = Value(logits);
  CHECK_GT(x.rows(), 0) << "the mean of no rows";
  CHECK_EQ(static_cast<Eigen::Index>(labels.size()), x.rows()) << "one label a row";
  Node& node = AppendResult(Operation::kSoftmaxCrossEntropy, 1, 1, logits.index);
  node.labels = labels;
  Reserve(node.probabilities, x.rows(), x.cols());
  MatrixView<T> p(node.probabilities.data(), x.rows(), x.cols());
  T sum = 0;
  for (Eigen::Index i = 0; i < x.rows(); ++i) {
    CHECK(labels[i] >= 0 && labels[i] < x.cols()) << "label " << labels[i] << " of row " << i;
    const T greatest = x.row(i).maxCoeff();  // taken off before exp, which then cannot overflow
    p.row(i) = (x.row(i).array() - greatest).exp().matrix();
    const T total = p.row(i).sum();
    p.row(i) /= total;
    sum += std::log(total) - (x(i, labels[i]) - greatest);
  }
  node.own_value[0] = sum / static_cast<T>(x.rows());
  return Last();
}

template <typename T>
ConstMatrixView<T> Tape<T>::Value(Variable variable) const {
  CHECK(variable.index >= 0 && static_cast<size_t>(variable.index) < size_) << "a variable of before Clear, or of no tape";
  return nodes_[variable.index].Value();
}

// --- Backward ---

template <typename T>
void Tape<T>::Backward(Variable loss) {
  CHECK_EQ(Value(loss).size(), 1) << "only a 1x1 is differentiated";
  CHECK(!differentiated_) << "Backward twice without Clear and forward between";
  differentiated_ = true;
  Node& last = nodes_[loss.index];
  if (last.requires_grad) {
    CountContributions(loss.index);
    Contribute(loss.index, Matrix<T>::Ones(1, 1));
    for (int i = loss.index; i >= 0; --i) {
      if (nodes_[i].has_gradient) BackwardThrough(nodes_[i]);
    }
  }
  module_.BackwardEnd();
}

// A parameter may be used several times, also by what the loss does not depend on: only uses that backward will visit count.
template <typename T>
void Tape<T>::CountContributions(int loss) {
  nodes_[loss].missing = 1;
  for (int i = loss; i >= 0; --i) {
    if (nodes_[i].missing == 0) continue;
    for (const int operand : {nodes_[i].a, nodes_[i].b}) {
      if (operand >= 0 && nodes_[operand].requires_grad) ++nodes_[operand].missing;
    }
  }
}

template <typename T>
void Tape<T>::BackwardThrough(Node& node) {
  switch (node.operation) {
    case Operation::kInput:
    case Operation::kParameter:
      return;
    case Operation::kMatMul:
      return BackwardMatMul(node);
    case Operation::kMatMulTransposed:
      return BackwardMatMulTransposed(node);
    case Operation::kAdd:
      return BackwardAdd(node);
    case Operation::kRelu:
      return Contribute(node.a, (node.Value().array() > T{0}).select(node.Gradient().array(), T{0}).matrix());
    case Operation::kSoftmaxCrossEntropy:
      return BackwardSoftmaxCrossEntropy(node);
  }
}

// The second operand is usually the weight: its gradient comes first, so that the engine can send it meanwhile.
template <typename T>
void Tape<T>::BackwardMatMul(const Node& node) {
  if (nodes_[node.b].requires_grad) Contribute(node.b, nodes_[node.a].Value().transpose() * node.Gradient());
  if (nodes_[node.a].requires_grad) Contribute(node.a, node.Gradient() * nodes_[node.b].Value().transpose());
}

template <typename T>
void Tape<T>::BackwardMatMulTransposed(const Node& node) {
  if (nodes_[node.b].requires_grad) Contribute(node.b, node.Gradient().transpose() * nodes_[node.a].Value());
  if (nodes_[node.a].requires_grad) Contribute(node.a, node.Gradient() * nodes_[node.b].Value());
}

template <typename T>
void Tape<T>::BackwardAdd(Node& node) {
  Node& a = nodes_[node.a];
  Node& b = nodes_[node.b];
  if (b.requires_grad && b.rows == node.rows) Contribute(node.b, node.Gradient());
  if (b.requires_grad && b.rows != node.rows) Contribute(node.b, node.Gradient().colwise().sum());
  if (!a.requires_grad) return;
  if (a.operation == Operation::kParameter || a.has_gradient) {
    Contribute(node.a, node.Gradient());
  } else {  // the same matrix, which nobody needs any more: handed on instead of copied
    std::swap(a.own_gradient, node.own_gradient);
    CountContribution(a);
  }
}

template <typename T>
void Tape<T>::BackwardSoftmaxCrossEntropy(Node& node) {
  MatrixView<T> p(node.probabilities.data(), nodes_[node.a].rows, nodes_[node.a].columns);
  for (Eigen::Index i = 0; i < p.rows(); ++i) p(i, node.labels[i]) -= 1;
  Contribute(node.a, p * (node.own_gradient[0] / static_cast<T>(p.rows())));
}

template <typename T>
template <typename Expression>
void Tape<T>::Contribute(int operand, const Expression& gradient) {
  Node& node = nodes_[operand];
  const bool is_parameter = node.operation == Operation::kParameter;
  if (!is_parameter) Reserve(node.own_gradient, node.rows, node.columns);
  MatrixView<T> target =
      is_parameter ? module_.Gradient(node.parameter) : MatrixView<T>(node.own_gradient.data(), node.rows, node.columns);
  if (is_parameter ? module_.HasGradient(node.parameter) : node.has_gradient) {
    target.noalias() += gradient;
  } else {
    target.noalias() = gradient;
  }
  CountContribution(node);
}

template <typename T>
void Tape<T>::CountContribution(Node& node) {
  node.has_gradient = true;
  --node.missing;
  if (node.operation != Operation::kParameter) return;
  module_.MarkGradientWritten(node.parameter);
  if (node.missing == 0) module_.GradientReady(node.parameter);
}

template class Tape<float>;
template class Tape<double>;

}  // namespace nn
