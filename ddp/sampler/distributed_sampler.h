// Which samples each rank sees, in which order: parts of one shuffled data set, disjoint, together all of it.
//
//   ABSL_ASSIGN_OR_RETURN(auto sampler, DistributedSampler::Create(data.size(), group->size(), group->rank()));
//   for (int64_t epoch = sampler.epoch(); epoch < 10; ++epoch) {
//     sampler.SetEpoch(epoch);                                                    // another order each epoch
//     for (absl::Span<const int64_t> indices : sampler.Batches(64)) Step(indices);
//   }
//
// The order is cut like a deck of cards: rank r takes positions r, r + W, r + 2W, ... of it (W ranks). So the ranks' k-th
// batches of B samples are together exactly the k-th batch of B * W samples of one process. Every rank gets the same number
// of batches; at the end of the data the last one may be shorter on some ranks, or empty.
//
// State: what a checkpoint saves is the epoch and the position in it, counted in samples of all ranks; another number of
// ranks may go on from there. Saved inside the loop, a batch counts as taken. After loading, SetEpoch of the loaded epoch
// keeps the position and the first Batches goes on from it; so the loop above is also the loop that resumes.
//
// All ranks create it with the same arguments, but for the rank. Not thread-safe. Needs no process group.
#ifndef LOCKSTEP_DDP_SAMPLER_DISTRIBUTED_SAMPLER_H_
#define LOCKSTEP_DDP_SAMPLER_DISTRIBUTED_SAMPLER_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "ddp/sampler/epoch_order.h"
#include "ddp/stateful.h"

namespace lockstep {

// What happens where the data set does not divide by the number of ranks.
enum class SamplerMode : uint8_t {
  kExact,     // every sample exactly once an epoch; some ranks have one more than others
  kPad,       // equal lengths: the order's beginning is repeated at its end, as PyTorch does by default
  kDropLast,  // equal lengths: what is left over at the end is not visited, as PyTorch's drop_last
};

enum class SamplerOrder : uint8_t {
  kShuffled,    // "feistel/1": no memory, the same on every machine; a function of (seed, epoch)
  kSequential,  // "sequential/1": 0, 1, 2, ...
  kTorch,       // "torch-randperm/1": PyTorch's order bit for bit, from seed + epoch; 4 bytes a sample, at most 2^32 samples
};

struct SamplerOptions {
  SamplerMode mode = SamplerMode::kExact;
  SamplerOrder order = SamplerOrder::kShuffled;
  uint64_t seed = 0;  // the same on every rank
};

class DistributedSampler final : public Stateful {
 public:
  static constexpr int64_t kMaxDatasetSize = int64_t{1} << 62;

  // INVALID_ARGUMENT names the argument, its value and what is allowed. An empty data set is allowed: no batches.
  static absl::StatusOr<DistributedSampler> Create(int64_t dataset_size, int world_size, int rank,
                                                   const SamplerOptions& options = {});

  // Goes to the beginning of `epoch`; after loading the state of that very epoch, stays where it was saved. Any number.
  void SetEpoch(int64_t epoch);
  int64_t epoch() const { return epoch_; }

  // This rank's part of the whole epoch, wherever the position is. Takes 8 bytes a sample of this rank.
  std::vector<int64_t> Indices() const;

  class BatchRange;
  // The epoch in batches of `batch_size` (at least 1) for this rank, from its beginning; the first time after loading, from
  // the loaded position. A span is valid until the next batch is taken. One loop at a time; the sampler stays where it is
  // in memory meanwhile.
  BatchRange Batches(int64_t batch_size);
  // How many batches the next Batches(batch_size) gives; equal on all ranks.
  int64_t num_batches(int64_t batch_size) const;

  // No tensors; values "order", "mode", "seed", "dataset_size", "epoch", "position".
  std::vector<StateTensor> StateTensors() override { return {}; }
  StateValues GetStateValues() const override;
  // DATA_LOSS: a value is missing, unknown, no number or out of range. FAILED_PRECONDITION: saved with other options or
  // another data set; says which, and both values.
  absl::Status SetStateValues(const StateValues& values) override;

 private:
  DistributedSampler(int64_t dataset_size, int world_size, int rank, const SamplerOptions& options);

  int64_t EndFrom(int64_t start) const;
  const EpochOrder& order() const;
  void Append(int64_t from, int64_t to, std::vector<int64_t>& indices) const;
  bool TakeBatch(int64_t batch_size, int64_t end);

  int64_t size_;
  int world_size_;
  int rank_;
  SamplerOptions options_;

  int64_t epoch_ = 0;
  int64_t position_ = 0;             // samples of all ranks that are taken
  absl::optional<int64_t> resumed_;  // loaded, and not yet used by Batches
  std::vector<int64_t> batch_;
  mutable std::unique_ptr<const EpochOrder> order_;  // of epoch_; null until needed
};

// What Batches returns; for range-based for.
class DistributedSampler::BatchRange {
 public:
  struct End {};
  class Iterator {
   public:
    absl::Span<const int64_t> operator*() const { return range_->sampler_->batch_; }
    Iterator& operator++() {
      valid_ = range_->Next();
      return *this;
    }
    bool operator!=(End) const { return valid_; }

   private:
    friend class BatchRange;
    explicit Iterator(BatchRange* range) : range_(range), valid_(range->Next()) {}
    BatchRange* range_;
    bool valid_;
  };

  Iterator begin() { return Iterator(this); }
  End end() const { return {}; }

 private:
  friend class DistributedSampler;
  BatchRange(DistributedSampler* sampler, int64_t batch_size, int64_t stop)
      : sampler_(sampler), batch_size_(batch_size), stop_(stop) {}
  bool Next() { return sampler_->TakeBatch(batch_size_, stop_); }

  DistributedSampler* sampler_;
  int64_t batch_size_;
  int64_t stop_;
};

// The name and version of an order, and the name of a mode, as checkpoints and flags show them: "feistel/1", "drop_last".
absl::string_view SamplerOrderVersion(SamplerOrder order);
absl::string_view SamplerModeName(SamplerMode mode);

}  // namespace lockstep

#endif  // LOCKSTEP_DDP_SAMPLER_DISTRIBUTED_SAMPLER_H_
