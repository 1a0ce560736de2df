// Data parallelism: every rank holds a replica of the model, each sees its own part of the data, and the gradients are
// averaged while backward runs, so that all replicas take the same step.
//
//   ABSL_ASSIGN_OR_RETURN(auto ddp, DistributedDataParallel::Create(group, model, options));
//   for (absl::Span<const int64_t> indices : sampler.Batches(64)) {
//     DdpStep step = ddp.BeginStep({.weight = static_cast<double>(indices.size())});   // arms the engine
//     if (!indices.empty()) Loss(model, Load(data, indices)).Backward();               // averaged while this runs
//     ABSL_RETURN_IF_ERROR(step.Finish());                                             // final, or why not
//     optimizer.Step();
//   }
//
// The gradient of a step is that of the mean loss over all samples of all ranks: each rank's loss is the mean over its own
// samples, `weight` says how many these are, and the engine averages by weight. A short or empty last batch therefore gives
// exactly what one process would compute on the whole batch.
//
// Accumulation: steps begun with {.sync = false} add up on this rank; the next synchronised step averages all of it, as one
// large batch would (divide no loss by the number of micro-batches). All ranks synchronise after the same number.
//
// Gradients need no zeroing: the first backward after a synchronised step overwrites them.
//
// One thread at a time; backward may run on others. Collective calls (Create, and each synchronised step) are made by all
// ranks alike.
#ifndef LOCKSTEP_DDP_DISTRIBUTED_DATA_PARALLEL_H_
#define LOCKSTEP_DDP_DISTRIBUTED_DATA_PARALLEL_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ddp/model.h"
#include "ddp/process_group.h"

namespace lockstep {

struct DdpOptions {
  // Gradients are reduced in buckets, filled from the model's last parameter to its first, as backward makes them. A bucket
  // ends with the first gradient that reaches the limit. The first is small, so that communication starts early; the others
  // are as large as amortises the transport's latency.
  int64_t first_bucket_bytes = 1 << 20;
  int64_t bucket_cap_bytes = 25 << 20;
};

struct StepOptions {
  double weight = 1;  // samples (or tokens) whose mean this rank's loss is; 0: none here, and no backward
  bool sync = true;   // false: accumulate on this rank only
};

// What the engine did so far, on this rank.
struct DdpStats {
  int64_t synchronized_steps = 0;
  int64_t buckets_reduced = 0;
  int64_t buckets_started_in_backward = 0;  // of these, started before OnBackwardEnd
};

class Reducer;

// One step in progress. Movable; finish it before the next begins.
class [[nodiscard]] DdpStep {
 public:
  DdpStep(DdpStep&& other) noexcept;
  DdpStep& operator=(DdpStep&&) = delete;
  // A step that was begun and is left without Finish (an exception, an early return) closes the engine's communicator, so
  // that peers that wait for it get an error instead of their deadline.
  ~DdpStep();

  // After backward. Synchronised: waits until the averaged gradients are final on this rank. Else: checks only this rank.
  //   FAILED_PRECONDITION  some rank misused the step; every rank gets the same error, naming the rank and the parameter:
  //                        begun twice, no backward, two backwards in one step, a parameter without gradient, backward
  //                        outside a step, another number of accumulated micro-batches than the other ranks
  //   INVALID_ARGUMENT     a weight that is negative or not finite, or none on any rank; or the sum of weights is more than
  //                        1e12 times what the step before had, or less than 1e-12 of it (before the first: one a rank)
  //   DEADLINE_EXCEEDED, UNAVAILABLE   a peer is late or gone
  // After the first two, gradients are undefined and the next step works; after the last, the engine has failed for good.
  absl::Status Finish();

 private:
  friend class DistributedDataParallel;
  DdpStep(Reducer* reducer, absl::Status begun) : reducer_(reducer), begun_(std::move(begun)) {}

  Reducer* reducer_;    // null: finished or moved from
  absl::Status begun_;  // not OK: this step never began
};

class DistributedDataParallel {
 public:
  // Collective. Compares the models of all ranks (names, order, shapes, dtypes, options: FAILED_PRECONDITION on every rank,
  // naming the first difference and both ranks), gives every rank rank 0's parameters and buffers, makes the buckets and
  // binds the gradients into them. `model` outlives the result and is stepped through it alone.
  //   INVALID_ARGUMENT: no parameter requires a gradient, a name occurs twice, a dtype that no reduction takes, a bad option
  static absl::StatusOr<DistributedDataParallel> Create(std::shared_ptr<ProcessGroup> group, Model& model,
                                                        const DdpOptions& options = {});
  DistributedDataParallel(DistributedDataParallel&&) noexcept;
  DistributedDataParallel& operator=(DistributedDataParallel&&) noexcept;
  ~DistributedDataParallel();  // unbinds the gradients; not during a step

  // Before forward. Never waits: what is wrong is told by Finish.
  DdpStep BeginStep(const StepOptions& options = {});

  Model& model() const;
  DdpStats stats() const;
  // One line a bucket: "bucket 0: f32[262144] fc3.bias fc3.weight".
  std::string DescribeBuckets() const;

 private:
  explicit DistributedDataParallel(std::shared_ptr<ProcessGroup> group, std::unique_ptr<Reducer> reducer);

  std::shared_ptr<ProcessGroup> group_;  // outlives reducer_, whose communicator is split from it
  std::unique_ptr<Reducer> reducer_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_DDP_DISTRIBUTED_DATA_PARALLEL_H_
