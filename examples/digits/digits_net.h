// The network that the digits trainer trains: 64 pixels, one hidden layer, ten classes.
#ifndef LOCKSTEP_EXAMPLES_DIGITS_DIGITS_NET_H_
#define LOCKSTEP_EXAMPLES_DIGITS_DIGITS_NET_H_

#include <cstdint>

#include "examples/data/digits.h"
#include "examples/nn/linear.h"
#include "examples/nn/module.h"
#include "examples/nn/random.h"
#include "examples/nn/tape.h"

namespace digits {

// Parameters fc1.weight, fc1.bias, fc2.weight, fc2.bias. T is float or double.
template <typename T>
class DigitsNet final : public nn::Module<T> {
 public:
  static constexpr int kHidden = 256;

  // A seed names the initial values, on every machine.
  explicit DigitsNet(uint64_t seed) : DigitsNet(nn::Random(seed)) {}

  // Ten logits a row.
  nn::Variable operator()(nn::Tape<T>& tape, nn::Variable images) const { return fc2_(tape, tape.Relu(fc1_(tape, images))); }

 private:
  explicit DigitsNet(nn::Random random)
      : fc1_(*this, "fc1", data::kDigitPixels, kHidden, random), fc2_(*this, "fc2", kHidden, data::kDigitClasses, random) {}

  const nn::Linear<T> fc1_, fc2_;
};

}  // namespace digits

#endif  // LOCKSTEP_EXAMPLES_DIGITS_DIGITS_NET_H_
