// Reports travel as one number through an f32 all-reduce, and come out as every rank's same words.
#include "ddp/step_report.h"

#include <cmath>
#include <random>
#include <vector>

#include "absl/status/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

using ::absl_testing::IsOkAndHolds;
using ::absl_testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr StepFault kFaults[] = {StepFault::kBegunTwice,
                                 StepFault::kNoBackward,
                                 StepFault::kMissingGradient,
                                 StepFault::kSecondBackward,
                                 StepFault::kBackwardWithoutSamples,
                                 StepFault::kStrayBackward,
                                 StepFault::kBadWeight};

std::vector<ParameterInfo> Parameters() {
  ParameterInfo weight, bias;
  weight.name = "fc.weight";
  bias.name = "fc.bias";
  return {weight, bias};
}

TEST(StepReport, EveryFaultAndParameterSurvivesItsEncoding) {
  for (const StepFault fault : kFaults) {
    for (const int parameter : {-1, 0, 1, 7, 1000, 65533, 65534}) {
      const StepReport decoded = DecodeReport(EncodeReport({fault, parameter}));
      EXPECT_EQ(decoded.fault, fault);
      EXPECT_EQ(decoded.parameter, parameter);
    }
    EXPECT_EQ(DecodeReport(EncodeReport({fault, 65535})).parameter, -1);
    EXPECT_EQ(DecodeReport(EncodeReport({fault, 65535})).fault, fault);
  }
  EXPECT_EQ(EncodeReport({StepFault::kNone, 3}), 0);
}

// What the reducer does with it: each field divided by the rank's factor, multiplied by it in f32, summed with zeros.
TEST(StepReport, EveryControlSurvivesAnyFactorInSinglePrecision) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> exponent(-25, 25);
  for (int i = 0; i < 100'000; ++i) {
    const double factor = std::pow(10, exponent(random));
    StepControl sent;
    sent.total_weight = i % 10 == 0 ? i : std::pow(10, 10 * exponent(random));
    sent.micro_batches = static_cast<int>(random() % (1 << 20));
    sent.fault = static_cast<int>(random() % (1 << 20));
    ControlFields fields = EncodeControl(sent);
    for (double& field : fields) field = static_cast<float>(field / factor) * static_cast<float>(factor);
    ABSL_ASSERT_OK_AND_ASSIGN(const StepControl arrived, DecodeControl(fields));
    ASSERT_EQ(arrived.total_weight, sent.total_weight) << "factor " << factor;
    ASSERT_EQ(arrived.micro_batches, sent.micro_batches);
    ASSERT_EQ(arrived.fault, sent.fault);
  }
}

TEST(StepReport, WhatIsNoControlIsAnError) {
  for (const double bad : {std::nan(""), HUGE_VAL, -HUGE_VAL, -3.0, 1e9}) {
    for (int field = 0; field < kControlFields; ++field) {
      ControlFields fields = {};
      fields[field] = bad;
      EXPECT_THAT(DecodeControl(fields).status(), StatusIs(absl::StatusCode::kInternal)) << bad;
    }
  }
}

TEST(StepReport, JoinedReportsNameRanksAndParametersAndTheRestByNumber) {
  std::vector<StepReport> ranks(6);
  EXPECT_THAT(JoinReports(4, ranks, Parameters()), absl_testing::IsOk());
  ranks[1] = {StepFault::kMissingGradient, 1};
  EXPECT_THAT(
      JoinReports(4, ranks, Parameters()),
      StatusIs(absl::StatusCode::kFailedPrecondition,
               AllOf(HasSubstr("ddp step 4: rank 1: parameter \"fc.bias\" got no gradient"), Not(HasSubstr("rank 0")))));
  for (int rank = 1; rank < 6; ++rank) ranks[rank] = {StepFault::kNoBackward, -1};
  EXPECT_THAT(JoinReports(4, ranks, Parameters()),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("rank 3"), Not(HasSubstr("rank 4")), HasSubstr("and 2 further ranks"))));
}

TEST(StepReport, ABadWeightIsTheCallersArgument) {
  EXPECT_THAT(JoinReports(0, {{}, {StepFault::kBadWeight, -1}}, Parameters()),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("rank 1")));
}

TEST(AgreeOnStep, SumsWeightsAndRefusesStepsThatRanksCannotTakeTogether) {
  EXPECT_THAT(AgreeOnStep(0, {{3, 3, 1, 0}, {0, 0, 1, 0}, {5, 2, 1, 0}}, Parameters()), IsOkAndHolds(8.0));
  EXPECT_THAT(AgreeOnStep(2, {{3, 3, 1, 0}, {4, 1, 2, 0}}, Parameters()),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("step 2"), HasSubstr("rank 1 synchronises after 2"), HasSubstr("rank 0 after 1"))));
  EXPECT_THAT(AgreeOnStep(2, {{0, 0, 1, 0}, {0, 0, 1, 0}}, Parameters()),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("sum to 0")));
  const int fault = EncodeReport({StepFault::kStrayBackward, 0});
  EXPECT_THAT(AgreeOnStep(2, {{1, 1, 1, 0}, {1, 1, 1, fault}}, Parameters()),
              StatusIs(absl::StatusCode::kFailedPrecondition, AllOf(HasSubstr("rank 1"), HasSubstr("\"fc.weight\""))));
}

// Ranks 0 and 1 hold sums of mean gradients in units of their last weights; the factors bring them to the mean of all.
TEST(ContributionFactor, WeighsARankByItsLastWeightOverTheSum) {
  EXPECT_DOUBLE_EQ(ContributionFactor({9, 4, 2, 0}, 12), 4.0 / 12);
  EXPECT_DOUBLE_EQ(ContributionFactor({0, 0, 2, 0}, 12), 1.0 / 12);
}

}  // namespace
}  // namespace lockstep
