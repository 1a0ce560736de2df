// What a training run tells about itself: how far it is, its loss, how fast it goes.
#ifndef LOCKSTEP_EXAMPLES_DIGITS_TRAINING_REPORT_H_
#define LOCKSTEP_EXAMPLES_DIGITS_TRAINING_REPORT_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "ddp/process_group.h"
#include "examples/digits/progress.h"

namespace digits {

// Shows progress on rank 0, with the loss on that rank's own samples, so that it costs no communication. One thread.
class TrainingReport {
 public:
  TrainingReport(int rank, int64_t epochs) : epochs_(epochs), progress_(ProgressStyleOf(rank)) {}

  // Between these three the clock runs, so what happens between epochs (checkpoints) does not count.
  void BeginEpoch(int64_t epoch, int64_t steps);
  // `loss` is the mean over `samples` of this rank, which may be 0.
  void EndStep(double loss, int64_t samples);
  void EndEpoch();
  // The line that is redrawn ends.
  void Finish() { progress_.Finish(); }

  // Samples of all ranks in a second of training so far. Collective.
  absl::StatusOr<double> SamplesPerSecond(lockstep::ProcessGroup& group) const;

 private:
  std::string Describe(absl::string_view position) const;

  const int64_t epochs_;
  Progress progress_;
  int64_t epoch_ = 0;
  int64_t steps_ = 0, step_ = 0;  // of this epoch
  double loss_ = 0;               // its sum over this epoch's samples
  int64_t epoch_samples_ = 0;
  int64_t samples_ = 0;  // of all epochs
  absl::Time began_;
  absl::Duration spent_;
};

}  // namespace digits

#endif  // LOCKSTEP_EXAMPLES_DIGITS_TRAINING_REPORT_H_
