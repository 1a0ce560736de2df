#include "ddp/sampler/distributed_sampler.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "absl/log/check.h"
#include "absl/status/status_macros.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace lockstep {
namespace {

absl::Status CheckArguments(int64_t dataset_size, int world_size, int rank, const SamplerOptions& options) {
  if (dataset_size < 0 || dataset_size > DistributedSampler::kMaxDatasetSize) {
    return absl::InvalidArgumentError(absl::StrCat("sampler: dataset_size ", dataset_size, " is outside [0, 2^62]"));
  }
  if (world_size < 1) {
    return absl::InvalidArgumentError(absl::StrCat("sampler: world_size ", world_size, " must be at least 1"));
  }
  if (rank < 0 || rank >= world_size) {
    return absl::InvalidArgumentError(
        absl::StrCat("sampler: rank ", rank, " is outside [0, ", world_size - 1, "] (world_size ", world_size, ")"));
  }
  if (options.order == SamplerOrder::kTorch && dataset_size > TorchOrder::kMaxSize) {
    return absl::InvalidArgumentError(absl::StrCat("sampler: dataset_size ", dataset_size,
                                                   " is too large for PyTorch's order, which is held in memory (at most "
                                                   "2^32 samples); use SamplerOrder::kShuffled, which takes none"));
  }
  return absl::OkStatus();
}

// Reads the values of a saved state one by one; the first error stays.
class StateReader {
 public:
  explicit StateReader(const StateValues& values) : values_(values) {}

  template <typename Integer>
  Integer Number(const std::string& key) {
    const std::string text = Text(key);
    Integer number = 0;
    if (status_.ok() && !absl::SimpleAtoi(text, &number))
      Fail(absl::StrCat("\"", key, "\" is \"", text, "\", not a number"));
    return number;
  }

  template <typename Value>
  void Expect(const std::string& key, const Value& mine) {
    const std::string saved = Text(key);
    if (!status_.ok() || saved == absl::StrCat(mine)) return;
    status_ = absl::FailedPreconditionError(absl::StrCat("sampler: saved with ", key, " ", saved, ", but this one has ",
                                                         mine, "; create it as it was, or start without its state"));
  }

  void Require(bool condition, const std::string& what) {
    if (status_.ok() && !condition) Fail(what);
  }

  absl::Status status() const { return status_; }

 private:
  std::string Text(const std::string& key) {
    const auto found = values_.find(key);
    if (found != values_.end()) return found->second;
    if (status_.ok()) Fail(absl::StrCat("\"", key, "\" is missing"));
    return "";
  }
  void Fail(const std::string& what) { status_ = absl::DataLossError(absl::StrCat("sampler: in its saved state, ", what)); }

  const StateValues& values_;
  absl::Status status_;
};

}  // namespace

absl::string_view SamplerOrderVersion(SamplerOrder order) {
  constexpr absl::string_view kNames[] = {"feistel/1", "sequential/1", "torch-randperm/1"};
  return kNames[static_cast<int>(order)];
}

absl::string_view SamplerModeName(SamplerMode mode) {
  constexpr absl::string_view kNames[] = {"exact", "pad", "drop_last"};
  return kNames[static_cast<int>(mode)];
}

absl::StatusOr<DistributedSampler> DistributedSampler::Create(int64_t dataset_size, int world_size, int rank,
                                                              const SamplerOptions& options) {
  ABSL_RETURN_IF_ERROR(CheckArguments(dataset_size, world_size, rank, options));
  return DistributedSampler(dataset_size, world_size, rank, options);
}

DistributedSampler::DistributedSampler(int64_t dataset_size, int world_size, int rank, const SamplerOptions& options)
    : size_(dataset_size), world_size_(world_size), rank_(rank), options_(options) {}

void DistributedSampler::SetEpoch(int64_t epoch) {
  if (epoch != epoch_) {
    resumed_.reset();
    order_.reset();
  }
  epoch_ = epoch;
  position_ = resumed_.value_or(0);
}

// Where an epoch ends whose samples from `start` on are dealt out to the present ranks.
int64_t DistributedSampler::EndFrom(int64_t start) const {
  const int64_t rest = std::max<int64_t>(size_ - start, 0);
  const int64_t left_over = rest % world_size_;
  switch (options_.mode) {
    case SamplerMode::kExact:
      return start + rest;
    case SamplerMode::kPad:
      return start + rest + (left_over == 0 ? 0 : world_size_ - left_over);
    case SamplerMode::kDropLast:
      return start + rest - left_over;
  }
  return start;
}

const EpochOrder& DistributedSampler::order() const {
  if (order_ != nullptr) return *order_;
  switch (options_.order) {
    case SamplerOrder::kShuffled:
      order_ = std::make_unique<FeistelOrder>(size_, options_.seed, epoch_);
      break;
    case SamplerOrder::kSequential:
      order_ = std::make_unique<SequentialOrder>();
      break;
    case SamplerOrder::kTorch:
      order_ = std::make_unique<TorchOrder>(size_, options_.seed + static_cast<uint64_t>(epoch_));
      break;
  }
  return *order_;
}

// This rank's share of positions [from, to). Beyond the data set's end the order begins again (kPad).
void DistributedSampler::Append(int64_t from, int64_t to, std::vector<int64_t>& indices) const {
  const int64_t first = from + rank_;
  if (first >= to) return;
  indices.reserve(indices.size() + static_cast<size_t>((to - first - 1) / world_size_ + 1));
  const EpochOrder& order = this->order();
  for (int64_t position = first; position < to; position += world_size_) indices.push_back(order.At(position % size_));
}

std::vector<int64_t> DistributedSampler::Indices() const {
  std::vector<int64_t> indices;
  Append(0, EndFrom(0), indices);
  return indices;
}

DistributedSampler::BatchRange DistributedSampler::Batches(int64_t batch_size) {
  CHECK_GE(batch_size, 1) << "sampler: a batch has at least one sample";
  position_ = resumed_.value_or(0);
  resumed_.reset();
  return BatchRange(this, batch_size, EndFrom(position_));
}

int64_t DistributedSampler::num_batches(int64_t batch_size) const {
  CHECK_GE(batch_size, 1) << "sampler: a batch has at least one sample";
  const int64_t start = resumed_.value_or(0);
  const int64_t longest = (EndFrom(start) - start + world_size_ - 1) / world_size_;  // of all ranks
  return longest / batch_size + (longest % batch_size == 0 ? 0 : 1);
}

bool DistributedSampler::TakeBatch(int64_t batch_size, int64_t end) {
  batch_.clear();
  if (position_ >= end) return false;
  const int64_t longest = (end - position_ - 1) / world_size_ + 1;
  const int64_t batch_end = std::min(end, position_ + std::min(batch_size, longest) * world_size_);
  Append(position_, batch_end, batch_);
  position_ = batch_end;
  return true;
}

StateValues DistributedSampler::GetStateValues() const {
  return {{"order", std::string(SamplerOrderVersion(options_.order))},
          {"mode", std::string(SamplerModeName(options_.mode))},
          {"seed", absl::StrCat(options_.seed)},
          {"dataset_size", absl::StrCat(size_)},
          {"epoch", absl::StrCat(epoch_)},
          {"position", absl::StrCat(position_)}};
}

absl::Status DistributedSampler::SetStateValues(const StateValues& values) {
  StateReader reader(values);
  reader.Expect("order", SamplerOrderVersion(options_.order));
  reader.Expect("mode", SamplerModeName(options_.mode));
  reader.Expect("dataset_size", size_);
  reader.Expect("seed", options_.seed);
  const int64_t epoch = reader.Number<int64_t>("epoch");
  const int64_t position = reader.Number<int64_t>("position");
  // Padding adds less than one sample a rank, of however many ranks there were.
  const int64_t limit = size_ + (options_.mode == SamplerMode::kPad ? std::numeric_limits<int>::max() : 0);
  reader.Require(position >= 0 && position <= limit,
                 absl::StrCat("\"position\" ", position, " is outside [0, ", limit, "]"));
  reader.Require(values.size() == 6, "there are values this version does not know");
  ABSL_RETURN_IF_ERROR(reader.status());
  if (epoch != epoch_) order_.reset();
  epoch_ = epoch;
  position_ = position;
  resumed_ = position;
  return absl::OkStatus();
}

}  // namespace lockstep
