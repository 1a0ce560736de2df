// Averages the gradients of one model over the ranks of one communicator, while backward runs.
//
// The life of a step, for 2 ranks and parameters a b c in buckets {c} {b a}:
//   c ready  completes bucket 0: its all-reduce starts at once, from inside the hook, premultiplied by this rank's weight
//            over the sum of weights that is expected
//   b ready  one decrement
//   a ready  completes bucket 1, the last: it waits for Finish, since its tail carries this rank's weight and report
//   Finish   writes the tail, starts what is missing (zeros where no gradient came, so that no rank waits), waits for all,
//            and compares the sum of weights with what was expected
//
// Note [Launch order]: buckets start strictly in the plan's order, which is equal on all ranks; a complete bucket waits for
// the ones before it. Nothing else orders operations between ranks, and nothing is negotiated.
//
// Note [Expected weights]: the sum of weights arrives with the last bucket, but the first needs it. So each step expects
// about the sum of the one before (at first, one a rank), which all ranks know alike, and Finish multiplies the reduced
// gradients by expected / true, the same number on all ranks. What is expected is a power of two, by which floating-point
// numbers divide without rounding: the gradients' bits depend on this step alone, not on those before, so that a resumed run
// equals one that was never interrupted. Where the true sum is that power (2 ranks of 64 samples), there is nothing to do.
//
// Note [Hand-over]: hooks may run on several threads, a communicator takes operations from one at a time. Whoever raises
// `requests_` from zero starts buckets, and goes round again if others asked meanwhile; the others go on with their
// backward. No lock, no wait, no allocation.
#ifndef LOCKSTEP_DDP_REDUCER_H_
#define LOCKSTEP_DDP_REDUCER_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ddp/bucket_plan.h"
#include "ddp/distributed_data_parallel.h"
#include "ddp/model.h"
#include "ddp/step_report.h"
#include "transports/arena.h"
#include "transports/transport.h"

namespace lockstep {

class Reducer final : public BackwardObserver {
 public:
  // Collective; see DistributedDataParallel::Create. `host` is for errors. `model` outlives the reducer.
  static absl::StatusOr<std::unique_ptr<Reducer>> Create(std::unique_ptr<Communicator> communicator, Model& model,
                                                         const DdpOptions& options, std::string host);
  ~Reducer() override;

  // See DistributedDataParallel::BeginStep. Not OK: the step never began, and the one that is open fails too.
  absl::Status Begin(const StepOptions& options);
  // See DdpStep::Finish. Call it once for each Begin that was OK.
  absl::Status Finish();
  // The open step will never be finished.
  void Abandon();

  void OnGradientReady(int parameter, Stream stream) override;
  void OnBackwardEnd() override;

  Model& model() const { return model_; }
  DdpStats stats() const;
  std::string DescribeBuckets() const;

 private:
  enum class Phase { kIdle, kAccumulating, kSynchronizing };  // no step, a step without sync, a step with

  struct ParameterState {
    int bucket = -1;                 // -1: requires no gradient
    Buffer gradient;                 // in the arena
    std::atomic<bool> ready{false};  // in this step; tells a second backward
  };
  struct BucketState {
    Bucket layout;
    Buffer memory;
    std::string name;
    std::atomic<int> pending{0};  // gradients missing; the last decrement is acq_rel: who sees 0 sees them all
    Work work;
  };

  Reducer(std::unique_ptr<Communicator> communicator, Model& model, BucketPlan plan, Arena arena, std::string host);

  int size() const { return communicator_->size(); }
  bool alone() const { return size() == 1; }
  void BindGradients();

  void BeginGroup();
  void AddWeight(double weight);

  void Advance();
  void StartReadyBuckets();
  void StartBucket(BucketState& bucket);

  void RecordFault(StepFault fault, int parameter);
  void CheckBackward();
  void FillHoles();
  void WriteControls();
  absl::Status FinishAlone();
  absl::Status FinishWithPeers();
  absl::Status ReadControls();
  absl::Status CorrectWeightSum(double weight_sum);
  void EndGroup();
  void Scale(double factor);
  absl::Status AtHost(absl::Status status) const;

  std::unique_ptr<Communicator> communicator_;
  Model& model_;
  const std::string host_;
  Arena arena_;  // goes before communicator_
  int64_t tail_offset_ = 0;
  std::unique_ptr<ParameterState[]> parameters_;
  std::vector<std::unique_ptr<BucketState>> buckets_;

  // The accumulation group: the micro-batches since the last synchronised step.
  StepControl control_;
  std::vector<StepControl> controls_;  // of all ranks, once they have arrived
  double expected_weight_sum_;         // a power of two; see Note [Expected weights]
  double factor_ = 0;                  // of this rank's gradients; set before phase_

  // The open step.
  std::atomic<Phase> phase_{Phase::kIdle};  // release by Begin and Finish, acquire by hooks
  double weight_ = 0;
  std::atomic<int> gradients_ready_{0};
  std::atomic<int> backward_ends_{0};
  std::atomic<int> fault_{0};           // EncodeReport of the first; outlives a step that cannot tell the others
  std::atomic<bool> finishing_{false};  // the last bucket may start, and holes no longer hold any back

  // Owned by the thread that holds the hand-over (see Note [Hand-over]).
  std::atomic<uint32_t> requests_{0};
  size_t next_bucket_ = 0;

  DdpStats stats_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_DDP_REDUCER_H_
