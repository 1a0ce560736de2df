// How good the network is: measured by all ranks together.
#ifndef LOCKSTEP_EXAMPLES_DIGITS_EVALUATION_H_
#define LOCKSTEP_EXAMPLES_DIGITS_EVALUATION_H_

#include <cstdint>

#include "absl/status/status_macros.h"
#include "absl/status/statusor.h"
#include "ddp/process_group.h"
#include "ddp/sampler/distributed_sampler.h"
#include "examples/data/digits.h"
#include "examples/digits/batch.h"
#include "examples/digits/digits_net.h"
#include "examples/nn/tape.h"

namespace digits {

// How many of the images at `indices` the network gives their class. Clears the tape.
template <typename T>
int64_t CountCorrect(const DigitsNet<T>& net, nn::Tape<T>& tape, const data::DigitImages& images,
                     absl::Span<const int64_t> indices) {
  Batch<T> batch(images);
  batch.Load(indices);
  tape.Clear();
  const nn::ConstMatrixView<T> logits = tape.Value(net(tape, tape.Input(batch.images())));
  int64_t correct = 0;
  for (Eigen::Index i = 0; i < logits.rows(); ++i) {
    Eigen::Index best = 0;
    logits.row(i).maxCoeff(&best);
    if (best == batch.labels()[i]) ++correct;
  }
  tape.Clear();  // the batch goes
  return correct;
}

// The fraction of `images` that the network gives their class. Collective: each rank looks at its part, and all get the sum.
template <typename T>
absl::StatusOr<double> Accuracy(lockstep::ProcessGroup& group, const DigitsNet<T>& net, nn::Tape<T>& tape,
                                const data::DigitImages& images) {
  lockstep::SamplerOptions options;
  options.order = lockstep::SamplerOrder::kSequential;
  ABSL_ASSIGN_OR_RETURN(const lockstep::DistributedSampler sampler,
                        lockstep::DistributedSampler::Create(images.size(), group.size(), group.rank(), options));
  int64_t correct = CountCorrect(net, tape, images, sampler.Indices());
  ABSL_RETURN_IF_ERROR(group.AllReduce(lockstep::MakeBuffer(absl::MakeSpan(&correct, 1)), lockstep::ReduceOp::kSum));
  return static_cast<double>(correct) / static_cast<double>(images.size());
}

}  // namespace digits

#endif  // LOCKSTEP_EXAMPLES_DIGITS_EVALUATION_H_
