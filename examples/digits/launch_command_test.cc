#include "examples/digits/launch_command.h"

#include "absl/status/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace digits {
namespace {

using ::absl_testing::IsOkAndHolds;
using ::absl_testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

absl::StatusOr<std::vector<std::string>> Command(const std::vector<std::string>& arguments) {
  return LaunchCommand("/d/ddprun", "/t/trainer", arguments);
}

TEST(LaunchCommand, StartsTwoRanksUnlessToldOtherwise) {
  EXPECT_THAT(Command({}), IsOkAndHolds(ElementsAre("/d/ddprun", "--nproc_per_node=2", "/t/trainer")));
  EXPECT_THAT(Command({"--nproc_per_node=4"}), IsOkAndHolds(ElementsAre("/d/ddprun", "--nproc_per_node=4", "/t/trainer")));
  EXPECT_THAT(Command({"--nproc_per_node", "3"}),
              IsOkAndHolds(ElementsAre("/d/ddprun", "--nproc_per_node=3", "/t/trainer")));
}

TEST(LaunchCommand, TheLastNumberOfRanksCounts) {
  EXPECT_THAT(Command({"--nproc_per_node=4", "--nproc_per_node=1"}),
              IsOkAndHolds(ElementsAre("/d/ddprun", "--nproc_per_node=1", "/t/trainer")));
}

TEST(LaunchCommand, PassesAllOtherArgumentsOnInTheirOrder) {
  EXPECT_THAT(Command({"--epochs", "3", "--nproc_per_node=4", "--nproc_per_nodes=5", ""}),
              IsOkAndHolds(
                  ElementsAre("/d/ddprun", "--nproc_per_node=4", "/t/trainer", "--epochs", "3", "--nproc_per_nodes=5", "")));
}

TEST(LaunchCommand, HelpIsAskedOfTheTrainerOnce) {
  EXPECT_THAT(Command({"--nproc_per_node=4", "--help"}), IsOkAndHolds(ElementsAre("/t/trainer", "--help")));
}

TEST(LaunchCommand, AMissingNumberIsAnError) {
  EXPECT_THAT(Command({"--nproc_per_node"}), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("needs a number")));
}

}  // namespace
}  // namespace digits
