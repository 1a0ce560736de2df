// What one rank tells the others about a step: how its samples weigh, and whether the step was misused there.
//
// It travels as a few numbers a rank in the tail of the last bucket, and costs no operation of its own. All ranks read the
// same numbers, so all return the same error, and none waits for a bucket that another will never start.
#ifndef LOCKSTEP_DDP_STEP_REPORT_H_
#define LOCKSTEP_DDP_STEP_REPORT_H_

#include <array>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ddp/model.h"

namespace lockstep {

enum class StepFault : int {
  kNone,
  kBegunTwice,              // BeginStep before the step before was finished
  kNoBackward,              // samples, but no gradient came
  kMissingGradient,         // backward ran, but not to this parameter
  kSecondBackward,          // a gradient was written again after it had been handed over
  kBackwardWithoutSamples,  // weight 0, but backward ran
  kStrayBackward,           // backward ran while no step was open
  kBadWeight,               // negative, not finite, or too far from the weights before
};

// A fault and the parameter it was seen at (-1: none in particular).
struct StepReport {
  StepFault fault = StepFault::kNone;
  int parameter = -1;
};

// A report as one number: 0 for no fault, below 2^20, exact in f32. A parameter beyond 65,534 is left out.
int EncodeReport(StepReport report);
StepReport DecodeReport(int code);

// One sentence: `rank 1: parameter "fc1.weight" got no gradient ...`.
std::string DescribeReport(int rank, StepReport report, absl::Span<const ParameterInfo> parameters);

// What a rank brings to a synchronised step.
struct StepControl {
  double total_weight = 0;  // of all micro-batches since the last synchronised step, this one included
  double last_weight = 0;   // of the last one that had samples: the accumulated gradient is in units of it. Not sent
  int micro_batches = 0;    // counted in total_weight
  int fault = 0;            // EncodeReport of the first
};

// A StepControl as whole numbers below 2^20: each survives an f32 all-reduce in which its rank divides it by a factor, the
// transport multiplies it by that factor, and the others add zeros. The weight arrives exactly.
inline constexpr int kControlFields = 6;
using ControlFields = std::array<double, kControlFields>;
ControlFields EncodeControl(const StepControl& control);
// `fields` as they arrived, up to one half off. INTERNAL if one is no such number, as after an overflow.
absl::StatusOr<StepControl> DecodeControl(const ControlFields& fields);

// The sum of the weights over all ranks; or the error that every rank returns when they cannot take step `step` together.
// Allocates only in the error's case.
absl::StatusOr<double> AgreeOnStep(int64_t step, absl::Span<const StepControl> ranks,
                                   absl::Span<const ParameterInfo> parameters);

// What a rank's gradients are multiplied by before they are summed, if the weights of all add up to `weight_sum`. A rank without samples contributes zeros, and still
// gets a factor, with which its control arrives.
double ContributionFactor(const StepControl& control, double weight_sum);

// FAILED_PRECONDITION with the reports (at most three) of ranks at fault; OK if there are none. `step`: for the message.
absl::Status JoinReports(int64_t step, absl::Span<const StepReport> ranks, absl::Span<const ParameterInfo> parameters);

}  // namespace lockstep

#endif  // LOCKSTEP_DDP_STEP_REPORT_H_
