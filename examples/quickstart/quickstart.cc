// The smallest whole program: any number of processes fit a line to 1,000 points. Its heart stands in the README.
//
//   bazel run //examples/quickstart                                    # alone
//   ddprun --nproc_per_node=3 bazel-bin/examples/quickstart/quickstart # three processes that train as one
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <memory>
#include <vector>

#include "absl/flags/parse.h"
#include "absl/status/status.h"
#include "absl/status/status_macros.h"
#include "absl/types/span.h"
#include "ddp/buffer_model.h"
#include "ddp/distributed_data_parallel.h"
#include "ddp/flags.h"
#include "ddp/init.h"
#include "ddp/sampler/distributed_sampler.h"

namespace {

constexpr int64_t kPoints = 1000;

// The gradient of the mean of (w[0] x + w[1] - (3 x - 1))^2 over the points of the batch, written where the engine wants it.
void Backward(lockstep::BufferModel& model, const std::vector<double>& w, absl::Span<const int64_t> batch) {
  absl::Span<double> gradient = model.Gradient<double>(0);
  gradient[0] = gradient[1] = 0;
  for (const int64_t i : batch) {
    const double x = static_cast<double>(i) / kPoints, error = w[0] * x + w[1] - (3 * x - 1);
    gradient[0] += 2 * error * x / static_cast<double>(batch.size());
    gradient[1] += 2 * error / static_cast<double>(batch.size());
  }
  model.MarkReady(0);
  model.EndBackward();
}

// README: begin
absl::Status Train() {
  ABSL_ASSIGN_OR_RETURN(auto group, lockstep::InitProcessGroup(lockstep::ProcessGroupOptionsFromFlags()));
  std::vector<double> w = {0, 0};  // the model: y = w[0] x + w[1]
  lockstep::BufferModel model;
  model.AddParameter("w", {2}, lockstep::MakeBuffer(absl::MakeSpan(w)));
  ABSL_ASSIGN_OR_RETURN(auto ddp, lockstep::DistributedDataParallel::Create(group, model));
  ABSL_ASSIGN_OR_RETURN(auto sampler, lockstep::DistributedSampler::Create(kPoints, group->size(), group->rank()));
  for (int epoch = 0; epoch < 40; ++epoch) {
    sampler.SetEpoch(epoch);                                       // another order each time, the same on every rank
    for (absl::Span<const int64_t> batch : sampler.Batches(50)) {  // this rank's part
      lockstep::DdpStep step = ddp.BeginStep({.weight = static_cast<double>(batch.size())});
      if (!batch.empty()) Backward(model, w, batch);  // gradients are averaged while this runs
      ABSL_RETURN_IF_ERROR(step.Finish());            // they are final, or the error names the rank and the reason
      for (int i = 0; i < 2; ++i) w[i] -= 0.5 * model.Gradient<double>(0)[i];
    }
  }
  if (group->rank() == 0) std::printf("y = %.3f x %+.3f, found by %d ranks\n", w[0], w[1], group->size());
  return group->Destroy();
}
// README: end

}  // namespace

int main(int argc, char** argv) {
  absl::ParseCommandLine(argc, argv);
  const absl::Status status = Train();
  if (!status.ok()) std::cerr << "quickstart: " << status << std::endl;
  return status.ok() ? 0 : 1;
}
