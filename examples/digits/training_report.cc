#include "examples/digits/training_report.h"

#include "absl/status/status_macros.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"

namespace digits {

void TrainingReport::BeginEpoch(int64_t epoch, int64_t steps) {
  epoch_ = epoch;
  steps_ = steps;
  step_ = 0;
  loss_ = 0;
  epoch_samples_ = 0;
  began_ = absl::Now();
}

void TrainingReport::EndStep(double loss, int64_t samples) {
  ++step_;
  loss_ += loss * static_cast<double>(samples);
  epoch_samples_ += samples;
  progress_.Update(Describe(absl::StrFormat("  %3d%%", 100 * step_ / steps_)));
}

void TrainingReport::EndEpoch() {
  spent_ += absl::Now() - began_;
  samples_ += epoch_samples_;
  if (steps_ > 0) progress_.Milestone(Describe(""));  // a finished epoch, when loaded, has no steps left
}

std::string TrainingReport::Describe(absl::string_view position) const {
  const double loss = epoch_samples_ > 0 ? loss_ / static_cast<double>(epoch_samples_) : 0;
  return absl::StrFormat("epoch %d/%d  loss %.4f%s", epoch_ + 1, epochs_, loss, position);
}

absl::StatusOr<double> TrainingReport::SamplesPerSecond(lockstep::ProcessGroup& group) const {
  int64_t samples = samples_;
  ABSL_RETURN_IF_ERROR(group.AllReduce(lockstep::MakeBuffer(absl::MakeSpan(&samples, 1)), lockstep::ReduceOp::kSum));
  const double seconds = absl::ToDoubleSeconds(spent_);
  return seconds > 0 ? static_cast<double>(samples) / seconds : 0.0;
}

}  // namespace digits
