// A fully connected layer: y = x W^T + b, with W of shape [out, in] and b of shape [out], as torch.nn.Linear keeps them.
#ifndef LOCKSTEP_EXAMPLES_NN_LINEAR_H_
#define LOCKSTEP_EXAMPLES_NN_LINEAR_H_

#include <cmath>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "examples/nn/module.h"
#include "examples/nn/random.h"
#include "examples/nn/tape.h"

namespace nn {

template <typename T>
class Linear {
 public:
  // Adds "NAME.weight", then "NAME.bias" to `module`, both uniform in +-1/sqrt(in) as torch.nn.Linear's are (from our own
  // generator, so other numbers than PyTorch's, but the same on every machine; a float is a double rounded).
  Linear(Module<T>& module, absl::string_view name, int64_t in, int64_t out, Random& random)
      : weight_(module.AddParameter(absl::StrCat(name, ".weight"), {out, in})),
        bias_(module.AddParameter(absl::StrCat(name, ".bias"), {out})) {
    const double bound = 1 / std::sqrt(static_cast<double>(in));
    for (const int parameter : {weight_, bias_}) {
      MatrixView<T> values = module.Value(parameter);
      for (T& value : absl::MakeSpan(values.data(), values.size())) value = static_cast<T>(random.Uniform(bound));
    }
  }

  Variable operator()(Tape<T>& tape, Variable x) const {
    return tape.Add(tape.MatMulTransposed(x, tape.Parameter(weight_)), tape.Parameter(bias_));
  }

 private:
  int weight_;
  int bias_;
};

}  // namespace nn

#endif  // LOCKSTEP_EXAMPLES_NN_LINEAR_H_
