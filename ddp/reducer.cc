#include "ddp/reducer.h"

#include <cmath>
#include <cstring>
#include <thread>
#include <utility>

#include "absl/log/log.h"
#include "absl/status/status_macros.h"
#include "absl/strings/str_cat.h"
#include "ddp/model_agreement.h"

namespace lockstep {
namespace {

// How far the sum of weights may be from the one expected: an f32 gradient of 1e-26 still survives the way.
constexpr double kMaxCorrection = 1e12;

// What a rank's gradients may be multiplied by: within it, f32 carries the numbers in the tail exactly.
constexpr double kMaxFactor = 1e25;

// Elements of the last bucket that carry the ranks' controls; a group of one tells nobody.
int64_t TailCount(const Communicator& communicator) {
  return communicator.size() > 1 ? kControlFields * static_cast<int64_t>(communicator.size()) : 0;
}

absl::Status CheckOptions(const DdpOptions& options) {
  if (options.first_bucket_bytes >= 1 && options.bucket_cap_bytes >= 1) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("ddp: bucket limits are at least 1 byte, not first_bucket_bytes=", options.first_bucket_bytes,
                   ", bucket_cap_bytes=", options.bucket_cap_bytes));
}

absl::Status CheckDevice(const Model& model, const Arena& arena) {
  for (const ParameterInfo& p : model.parameters()) {
    if (!p.requires_grad || p.device == arena.device()) continue;
    return absl::InvalidArgumentError(absl::StrCat("ddp: parameter \"", p.name, "\" is on ", DeviceName(p.device),
                                                   ", but this transport reduces memory on ", DeviceName(arena.device()),
                                                   "; move the model, or choose another --ddp_backend"));
  }
  return absl::OkStatus();
}

double PowerOfTwoBelow(double value) { return std::exp2(std::ilogb(value)); }

template <typename F>
auto DispatchFloat(DType dtype, F f) {
  return dtype == DType::kF64 ? f(double{}) : f(float{});
}

void ScaleBuffer(const Buffer& buffer, double factor) {
  DispatchFloat(buffer.dtype, [&](auto tag) {
    using T = decltype(tag);
    T* const data = static_cast<T*>(buffer.data);
    for (int64_t i = 0; i < buffer.count; ++i) data[i] = static_cast<T>(data[i] * factor);
  });
}

void WriteElement(const Buffer& buffer, int64_t index, double value) {
  DispatchFloat(buffer.dtype,
                [&](auto tag) { static_cast<decltype(tag)*>(buffer.data)[index] = static_cast<decltype(tag)>(value); });
}

double ReadElement(const Buffer& buffer, int64_t index) {
  return DispatchFloat(buffer.dtype,
                       [&](auto tag) { return static_cast<double>(static_cast<decltype(tag)*>(buffer.data)[index]); });
}

}  // namespace

absl::StatusOr<std::unique_ptr<Reducer>> Reducer::Create(std::unique_ptr<Communicator> communicator, Model& model,
                                                         const DdpOptions& options, std::string host) {
  // A model that is wrong on this rank only is a difference that all ranks hear of.
  absl::Status valid = CheckOptions(options);
  valid.Update(CheckModel(model));
  ABSL_RETURN_IF_ERROR(CheckAgreement(
      *communicator,
      valid.ok() ? DescribeModel(model, absl::StrCat("first_bucket_bytes=", options.first_bucket_bytes,
                                                     " bucket_cap_bytes=", options.bucket_cap_bytes))
                 : std::vector<std::string>{absl::StrCat("a model that cannot be trained (", valid.message(), ")")}));
  ABSL_RETURN_IF_ERROR(valid);
  BucketPlan plan =
      MakeBucketPlan(model.parameters(), options.first_bucket_bytes, options.bucket_cap_bytes, TailCount(*communicator));
  ABSL_ASSIGN_OR_RETURN(Arena arena, communicator->CreateArena(plan.arena_bytes));
  ABSL_RETURN_IF_ERROR(CheckDevice(model, arena));
  ABSL_RETURN_IF_ERROR(BroadcastModel(*communicator, model));
  std::unique_ptr<Reducer> reducer(
      new Reducer(std::move(communicator), model, std::move(plan), std::move(arena), std::move(host)));
  reducer->BindGradients();
  VLOG(1) << "ddp: buckets=" << reducer->buckets_.size() << " first=" << options.first_bucket_bytes
          << " cap=" << options.bucket_cap_bytes << " arena_bytes=" << reducer->arena_.bytes();
  return reducer;
}

Reducer::Reducer(std::unique_ptr<Communicator> communicator, Model& model, BucketPlan plan, Arena arena, std::string host)
    : communicator_(std::move(communicator)),
      model_(model),
      host_(std::move(host)),
      arena_(std::move(arena)),
      tail_offset_(plan.tail_offset),
      parameters_(new ParameterState[model.parameters().size()]),
      controls_(static_cast<size_t>(communicator_->size())),
      expected_weight_sum_(PowerOfTwoBelow(communicator_->size())) {
  for (Bucket& layout : plan.buckets) {
    auto bucket = std::make_unique<BucketState>();
    bucket->memory = arena_.Slice(layout.arena_offset, layout.count, layout.dtype);
    bucket->name = absl::StrCat("bucket ", buckets_.size());
    for (const BucketSlot& slot : layout.slots) {
      ParameterState& parameter = parameters_[slot.parameter];
      parameter.bucket = static_cast<int>(buckets_.size());
      parameter.gradient = arena_.Slice(layout.arena_offset + slot.offset * SizeOf(layout.dtype), slot.count, layout.dtype);
    }
    bucket->layout = std::move(layout);
    buckets_.push_back(std::move(bucket));
  }
}

Reducer::~Reducer() {
  model_.SetBackwardObserver(nullptr);
  // What is in flight still writes to the arena.
  communicator_->Abort(
      absl::CancelledError(absl::StrCat("ddp: the engine of rank ", communicator_->rank(), " was destroyed")));
  for (const auto& bucket : buckets_) bucket->work.Wait().IgnoreError();
  for (size_t i = 0; i < model_.parameters().size(); ++i) {
    if (parameters_[i].bucket >= 0) model_.BindGradient(static_cast<int>(i), Buffer());
  }
}

void Reducer::BindGradients() {
  for (size_t i = 0; i < model_.parameters().size(); ++i) {
    if (parameters_[i].bucket >= 0) model_.BindGradient(static_cast<int>(i), parameters_[i].gradient);
  }
  model_.SetBackwardObserver(this);
}

// --- Begin -------------------------------------------------------------------------------------------------------------------

absl::Status Reducer::Begin(const StepOptions& options) {
  if (phase_.load(std::memory_order_relaxed) != Phase::kIdle) {
    RecordFault(StepFault::kBegunTwice, -1);
    return AtHost(absl::FailedPreconditionError(
        absl::StrCat("ddp step ", stats_.synchronized_steps, ": ",
                     DescribeReport(communicator_->rank(), {StepFault::kBegunTwice, -1}, model_.parameters()))));
  }
  if (control_.micro_batches == 0) BeginGroup();
  AddWeight(options.weight);
  gradients_ready_.store(0, std::memory_order_relaxed);
  backward_ends_.store(0, std::memory_order_relaxed);
  for (const auto& bucket : buckets_) {
    bucket->pending.store(static_cast<int>(bucket->layout.slots.size()), std::memory_order_relaxed);
    for (const BucketSlot& slot : bucket->layout.slots)
      parameters_[slot.parameter].ready.store(false, std::memory_order_relaxed);
  }
  finishing_.store(false, std::memory_order_relaxed);
  next_bucket_ = 0;
  factor_ = ContributionFactor(control_, expected_weight_sum_);
  if (factor_ < 1 / kMaxFactor || factor_ > kMaxFactor) {
    RecordFault(StepFault::kBadWeight, -1);
    factor_ = 1;
  }
  phase_.store(options.sync ? Phase::kSynchronizing : Phase::kAccumulating, std::memory_order_release);
  return absl::OkStatus();
}

void Reducer::BeginGroup() {
  for (size_t i = 0; i < model_.parameters().size(); ++i) {
    if (parameters_[i].bucket >= 0) model_.ClearGradient(static_cast<int>(i));
  }
}

// The accumulated gradient is a plain sum of the micro-batches' mean gradients, in units of the last weight. When the weight
// changes, what is there is brought to the new unit, so that in the end the sum is that of the samples.
void Reducer::AddWeight(double weight) {
  weight_ = weight;
  control_.micro_batches += 1;
  if (!std::isfinite(weight) || weight < 0) {
    RecordFault(StepFault::kBadWeight, -1);
    weight_ = 0;
  }
  if (weight_ == 0) return;
  if (control_.total_weight > 0 && control_.last_weight != weight_) Scale(control_.last_weight / weight_);
  control_.last_weight = weight_;
  control_.total_weight += weight_;
}

// --- Backward ----------------------------------------------------------------------------------------------------------------

void Reducer::OnGradientReady(int parameter, Stream) {
  ParameterState& state = parameters_[parameter];
  if (state.bucket < 0) return;
  const Phase phase = phase_.load(std::memory_order_acquire);
  if (phase == Phase::kIdle) return RecordFault(StepFault::kStrayBackward, parameter);
  if (state.ready.exchange(true, std::memory_order_relaxed)) return RecordFault(StepFault::kSecondBackward, parameter);
  gradients_ready_.fetch_add(1, std::memory_order_relaxed);
  if (phase == Phase::kAccumulating) return;
  const bool complete = buckets_[state.bucket]->pending.fetch_sub(1, std::memory_order_acq_rel) == 1;
  if (complete) Advance();
}

void Reducer::OnBackwardEnd() {
  if (phase_.load(std::memory_order_acquire) == Phase::kIdle) return RecordFault(StepFault::kStrayBackward, -1);
  if (backward_ends_.fetch_add(1, std::memory_order_relaxed) > 0) RecordFault(StepFault::kSecondBackward, -1);
  if (phase_.load(std::memory_order_relaxed) == Phase::kSynchronizing) Advance();
}

// See Note [Hand-over].
void Reducer::Advance() {
  if (alone() || requests_.fetch_add(1, std::memory_order_acq_rel) != 0) return;
  uint32_t seen = 1;
  do {
    StartReadyBuckets();
  } while (!requests_.compare_exchange_strong(seen, 0, std::memory_order_acq_rel));
}

// See Note [Launch order].
void Reducer::StartReadyBuckets() {
  const bool finishing = finishing_.load(std::memory_order_acquire);
  const size_t end = finishing ? buckets_.size() : buckets_.size() - 1;
  while (next_bucket_ < end && (finishing || buckets_[next_bucket_]->pending.load(std::memory_order_acquire) == 0)) {
    StartBucket(*buckets_[next_bucket_]);
    ++next_bucket_;
  }
}

void Reducer::StartBucket(BucketState& bucket) {
  CallOptions call;
  call.name = bucket.name;
  call.premultiplier = factor_;
  bucket.work = communicator_->AllReduce(bucket.memory, bucket.memory, ReduceOp::kPremulSum, call);
  ++stats_.buckets_reduced;
  if (backward_ends_.load(std::memory_order_relaxed) == 0) ++stats_.buckets_started_in_backward;
}

// --- Finish ------------------------------------------------------------------------------------------------------------------

absl::Status Reducer::Finish() {
  const Phase phase = phase_.load(std::memory_order_relaxed);
  CheckBackward();
  phase_.store(Phase::kIdle, std::memory_order_release);
  if (phase == Phase::kAccumulating) {
    const StepReport report = DecodeReport(fault_.load(std::memory_order_relaxed));
    if (report.fault == StepFault::kNone) return absl::OkStatus();
    return AtHost(absl::FailedPreconditionError(
        absl::StrCat("ddp: accumulating: ", DescribeReport(communicator_->rank(), report, model_.parameters()))));
  }
  absl::Status status = alone() ? FinishAlone() : FinishWithPeers();
  EndGroup();
  return status;
}

void Reducer::CheckBackward() {
  const bool ran =
      gradients_ready_.load(std::memory_order_acquire) > 0 || backward_ends_.load(std::memory_order_acquire) > 0;
  if (weight_ > 0 && !ran) RecordFault(StepFault::kNoBackward, -1);
  if (weight_ == 0 && ran) RecordFault(StepFault::kBackwardWithoutSamples, -1);
}

// Gradients that no backward of the group wrote: a rank without samples contributes zeros; else the model has a hole.
void Reducer::FillHoles() {
  for (size_t i = 0; i < model_.parameters().size(); ++i) {
    const int parameter = static_cast<int>(i);
    if (parameters_[i].bucket < 0 || model_.HasGradient(parameter)) continue;
    if (control_.total_weight > 0) RecordFault(StepFault::kMissingGradient, parameter);
    const Buffer& gradient = parameters_[i].gradient;
    if (gradient.count > 0) std::memset(gradient.data, 0, static_cast<size_t>(gradient.bytes()));
    model_.MarkGradientWritten(parameter);
  }
}

// Divided by what the transport multiplies this rank's elements by.
void Reducer::WriteControls() {
  control_.fault = fault_.load(std::memory_order_relaxed);
  const ControlFields own = EncodeControl(control_);
  const Buffer& last = buckets_.back()->memory;
  for (int rank = 0; rank < size(); ++rank) {
    for (int field = 0; field < kControlFields; ++field) {
      const double value = rank == communicator_->rank() ? own[field] / factor_ : 0;
      WriteElement(last, tail_offset_ + rank * kControlFields + field, value);
    }
  }
}

absl::Status Reducer::ReadControls() {
  const Buffer& last = buckets_.back()->memory;
  for (int rank = 0; rank < size(); ++rank) {
    ControlFields fields;
    for (int field = 0; field < kControlFields; ++field) {
      fields[field] = ReadElement(last, tail_offset_ + rank * kControlFields + field);
    }
    ABSL_ASSIGN_OR_RETURN(controls_[rank], DecodeControl(fields));
  }
  return absl::OkStatus();
}

absl::Status Reducer::FinishAlone() {
  FillHoles();
  control_.fault = fault_.load(std::memory_order_relaxed);
  ABSL_ASSIGN_OR_RETURN(const double weight_sum, AgreeOnStep(stats_.synchronized_steps, {control_}, model_.parameters()));
  Scale(ContributionFactor(control_, weight_sum));
  return absl::OkStatus();
}

absl::Status Reducer::FinishWithPeers() {
  FillHoles();
  WriteControls();
  finishing_.store(true, std::memory_order_release);
  Advance();
  // A hook on another thread may still be starting buckets; it goes round again for us.
  while (requests_.load(std::memory_order_acquire) != 0) std::this_thread::yield();
  // Everything has started on every rank, whatever is wrong with the step; so everything also ends.
  absl::Status ended;
  for (const auto& bucket : buckets_) ended.Update(bucket->work.Wait());
  if (!ended.ok()) return AtHost(std::move(ended));
  ABSL_RETURN_IF_ERROR(ReadControls());
  const absl::StatusOr<double> agreed = AgreeOnStep(stats_.synchronized_steps, controls_, model_.parameters());
  if (agreed.ok()) return CorrectWeightSum(*agreed);
  // Weights that were refused for being far from those before are what the next step expects.
  double weight_sum = 0;
  for (const StepControl& control : controls_) weight_sum += control.total_weight;
  if (weight_sum > 0 && std::isfinite(weight_sum)) expected_weight_sum_ = PowerOfTwoBelow(weight_sum);
  return agreed.status();
}

// See Note [Expected weights].
absl::Status Reducer::CorrectWeightSum(double weight_sum) {
  const double expected = std::exchange(expected_weight_sum_, PowerOfTwoBelow(weight_sum));
  const double correction = expected / weight_sum;
  if (correction > kMaxCorrection || correction < 1 / kMaxCorrection) {
    return absl::InvalidArgumentError(absl::StrCat("ddp step ", stats_.synchronized_steps, ": the ranks' weights add up to ",
                                                   weight_sum, ", where ", expected,
                                                   " was expected; so large a change loses gradients. Scale the weights"));
  }
  if (correction == 1) return absl::OkStatus();
  for (const auto& bucket : buckets_) ScaleBuffer(bucket->memory, correction);
  return absl::OkStatus();
}

void Reducer::EndGroup() {
  control_ = StepControl();
  fault_.store(0, std::memory_order_relaxed);
  ++stats_.synchronized_steps;
}

void Reducer::Abandon() {
  phase_.store(Phase::kIdle, std::memory_order_release);
  communicator_->Abort(
      absl::CancelledError(absl::StrCat("ddp step ", stats_.synchronized_steps, ": rank ", communicator_->rank(), " (host ",
                                        host_, ") left the step without Finish")));
}

void Reducer::RecordFault(StepFault fault, int parameter) {
  int none = 0;  // the first fault is the one to tell
  fault_.compare_exchange_strong(none, EncodeReport({fault, parameter}), std::memory_order_relaxed);
}

void Reducer::Scale(double factor) {
  if (factor == 1) return;
  for (size_t i = 0; i < model_.parameters().size(); ++i) {
    if (parameters_[i].bucket >= 0 && model_.HasGradient(static_cast<int>(i))) ScaleBuffer(parameters_[i].gradient, factor);
  }
}

absl::Status Reducer::AtHost(absl::Status status) const {
  if (status.ok()) return status;
  return absl::Status(status.code(), absl::StrCat(status.message(), " [host ", host_, "]"));
}

DdpStats Reducer::stats() const { return stats_; }

std::string Reducer::DescribeBuckets() const {
  std::string text;
  for (const auto& bucket : buckets_) {
    absl::StrAppend(&text, bucket->name, ": ", DescribeBuffer(bucket->memory));
    for (const BucketSlot& slot : bucket->layout.slots)
      absl::StrAppend(&text, " ", model_.parameters()[slot.parameter].name);
    absl::StrAppend(&text, "\n");
  }
  return text;
}

}  // namespace lockstep
