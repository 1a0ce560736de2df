#include "ddp/step_report.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace lockstep {
namespace {

constexpr int kFaultBits = 4;
constexpr int kMaxParameterField = (1 << 16) - 1;
constexpr size_t kReportsShown = 3;

// A double's 53 bits of mantissa in three fields; its exponent, made positive, in a fourth.
constexpr int kMantissaBits = 54, kMantissaFieldBits = 18, kExponentOffset = 2000;
constexpr int64_t kFieldLimit = 1 << 20;

std::string ParameterName(int parameter, absl::Span<const ParameterInfo> parameters) {
  if (parameter < 0 || parameter >= static_cast<int>(parameters.size())) return "a parameter";
  return absl::StrCat("parameter \"", parameters[parameter].name, "\"");
}

std::string DescribeFault(StepReport report, absl::Span<const ParameterInfo> parameters) {
  const std::string parameter = ParameterName(report.parameter, parameters);
  switch (report.fault) {
    case StepFault::kNone:
      return "no fault";
    case StepFault::kBegunTwice:
      return "BeginStep was called while a step was open; call Finish on it first";
    case StepFault::kNoBackward:
      return "the step has samples (weight > 0) but no backward ran in it; begin it with weight 0 where there are none";
    case StepFault::kMissingGradient:
      return absl::StrCat(parameter,
                          " got no gradient from backward; every parameter that requires one must take part in the loss");
    case StepFault::kSecondBackward:
      return absl::StrCat(parameter,
                          " got its gradient a second time in one step; run one backward a step, and accumulate over "
                          "several with {.sync = false}");
    case StepFault::kBackwardWithoutSamples:
      return "backward ran in a step of weight 0; skip it where there are no samples, or give their number as the weight";
    case StepFault::kStrayBackward:
      return absl::StrCat("backward reached ", parameter, " outside a step; call BeginStep before forward");
    case StepFault::kBadWeight:
      return "the step's weight is negative, not finite, or too far from a number of samples; give that number";
  }
  return "unknown fault";
}

std::vector<StepReport> ReportsOf(absl::Span<const StepControl> ranks) {
  std::vector<StepReport> reports;
  for (const StepControl& control : ranks) reports.push_back(DecodeReport(control.fault));
  return reports;
}

}  // namespace

int EncodeReport(StepReport report) {
  const int field = report.parameter + 1 > kMaxParameterField ? 0 : report.parameter + 1;
  return report.fault == StepFault::kNone ? 0 : static_cast<int>(report.fault) + (field << kFaultBits);
}

StepReport DecodeReport(int code) {
  return {static_cast<StepFault>(code & ((1 << kFaultBits) - 1)), (code >> kFaultBits) - 1};
}

std::string DescribeReport(int rank, StepReport report, absl::Span<const ParameterInfo> parameters) {
  return absl::StrCat("rank ", rank, ": ", DescribeFault(report, parameters));
}

absl::Status JoinReports(int64_t step, absl::Span<const StepReport> ranks, absl::Span<const ParameterInfo> parameters) {
  std::vector<std::string> shown;
  size_t faults = 0;
  bool bad_weight = false;
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    if (ranks[rank].fault == StepFault::kNone) continue;
    bad_weight = bad_weight || ranks[rank].fault == StepFault::kBadWeight;
    if (++faults <= kReportsShown) shown.push_back(DescribeReport(static_cast<int>(rank), ranks[rank], parameters));
  }
  if (faults == 0) return absl::OkStatus();
  const std::string message =
      absl::StrCat("ddp step ", step, ": ", absl::StrJoin(shown, "; "),
                   faults > kReportsShown ? absl::StrCat("; and ", faults - kReportsShown, " further ranks") : "");
  return bad_weight ? absl::InvalidArgumentError(message) : absl::FailedPreconditionError(message);
}

absl::StatusOr<double> AgreeOnStep(int64_t step, absl::Span<const StepControl> ranks,
                                   absl::Span<const ParameterInfo> parameters) {
  double weight_sum = 0;
  bool any_fault = false;
  for (const StepControl& control : ranks) {
    weight_sum += control.total_weight;
    any_fault = any_fault || control.fault != 0;
  }
  if (any_fault) return JoinReports(step, ReportsOf(ranks), parameters);
  for (size_t rank = 1; rank < ranks.size(); ++rank) {
    if (ranks[rank].micro_batches == ranks[0].micro_batches) continue;
    return absl::FailedPreconditionError(absl::StrCat(
        "ddp step ", step, ": rank ", rank, " synchronises after ", ranks[rank].micro_batches,
        " micro-batches, rank 0 after ", ranks[0].micro_batches, "; all ranks must use {.sync = false} in the same steps"));
  }
  if (weight_sum > 0) return weight_sum;
  return absl::InvalidArgumentError(
      absl::StrCat("ddp step ", step, ": the weights of all ranks sum to 0: there is no sample to average over"));
}

ControlFields EncodeControl(const StepControl& control) {
  ControlFields fields = {static_cast<double>(control.fault),
                          static_cast<double>(std::min<int64_t>(control.micro_batches, kFieldLimit - 1))};
  if (control.total_weight == 0) return fields;
  int exponent = 0;
  const double fraction = std::frexp(control.total_weight, &exponent);
  const auto mantissa = static_cast<int64_t>(std::ldexp(fraction, kMantissaBits));
  for (int i = 0; i < 3; ++i) {
    fields[2 + i] = static_cast<double>((mantissa >> (i * kMantissaFieldBits)) & ((1 << kMantissaFieldBits) - 1));
  }
  fields[5] = exponent + kExponentOffset;
  return fields;
}

absl::StatusOr<StepControl> DecodeControl(const ControlFields& fields) {
  std::array<int64_t, kControlFields> numbers;
  for (int i = 0; i < kControlFields; ++i) {
    if (!(fields[i] > -0.5 && fields[i] < kFieldLimit)) {
      return absl::InternalError(absl::StrCat("a rank's report arrived as ", fields[i], "; please report this"));
    }
    numbers[i] = std::lround(fields[i]);
  }
  StepControl control;
  control.fault = static_cast<int>(numbers[0]);
  control.micro_batches = static_cast<int>(numbers[1]);
  const int64_t mantissa = numbers[2] | numbers[3] << kMantissaFieldBits | numbers[4] << (2 * kMantissaFieldBits);
  control.total_weight =
      std::ldexp(static_cast<double>(mantissa), static_cast<int>(numbers[5]) - kExponentOffset - kMantissaBits);
  return control;
}

double ContributionFactor(const StepControl& control, double weight_sum) {
  return (control.total_weight > 0 ? control.last_weight : 1.0) / weight_sum;
}

}  // namespace lockstep
