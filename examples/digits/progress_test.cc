#include "examples/digits/progress.h"

#include <cstdlib>
#include <string>

#include "gtest/gtest.h"

namespace digits {
namespace {

class ProgressTest : public testing::Test {
 protected:
  Progress Make(ProgressStyle style) {
    return Progress(
        style, [this](absl::string_view text) { written_ += std::string(text); }, [this] { return now_; });
  }

  absl::Time now_ = absl::UnixEpoch();
  std::string written_;
};

TEST_F(ProgressTest, ATerminalsLineIsRedrawnAndItsRestCovered) {
  Progress progress = Make(ProgressStyle::kTerminal);
  progress.Milestone("epoch 1 done");
  progress.Milestone("epoch 2");
  progress.Finish();
  EXPECT_EQ(written_, "\repoch 1 done\repoch 2     \n");
}

TEST_F(ProgressTest, ATerminalIsUpdatedAtMostTenTimesASecond) {
  Progress progress = Make(ProgressStyle::kTerminal);
  progress.Update("1");
  now_ += absl::Milliseconds(99);
  progress.Update("2");
  now_ += absl::Milliseconds(1);
  progress.Update("3");
  EXPECT_EQ(written_, "\r1\r3");
}

TEST_F(ProgressTest, ALogGetsNoUpdatesAndAMilestoneAtMostEveryTwoSeconds) {
  Progress progress = Make(ProgressStyle::kLog);
  for (int epoch = 0; epoch < 100; ++epoch) {
    progress.Update("half");
    progress.Milestone(std::to_string(epoch));
    now_ += absl::Milliseconds(50);
  }
  EXPECT_EQ(written_, "0\n40\n80\n");
  progress.Finish();
  EXPECT_EQ(written_, "0\n40\n80\n99\n");
}

TEST_F(ProgressTest, FinishingTwiceOrWithoutAnythingSaidWritesNothing) {
  Progress terminal = Make(ProgressStyle::kTerminal);
  terminal.Finish();
  Progress log = Make(ProgressStyle::kLog);
  log.Milestone("1");
  log.Finish();
  log.Finish();
  EXPECT_EQ(written_, "1\n");
}

TEST_F(ProgressTest, LeavingEndsTheLine) {
  { Make(ProgressStyle::kTerminal).Milestone("1"); }
  EXPECT_EQ(written_, "\r1\n");
}

TEST_F(ProgressTest, ASilentOneIsSilent) {
  Progress progress = Make(ProgressStyle::kSilent);
  progress.Update("1");
  progress.Milestone("2");
  progress.Finish();
  EXPECT_EQ(written_, "");
}

TEST(ProgressStyle, OnlyRankZeroShowsIt) {
  setenv("LOCKSTEP_TTY", "1", 1);
  EXPECT_EQ(ProgressStyleOf(1), ProgressStyle::kSilent);
  EXPECT_EQ(ProgressStyleOf(0), ProgressStyle::kTerminal);
  setenv("LOCKSTEP_TTY", "0", 1);
  EXPECT_EQ(ProgressStyleOf(0), ProgressStyle::kLog);
  unsetenv("LOCKSTEP_TTY");  // a test's stderr is a file or a pipe
  EXPECT_EQ(ProgressStyleOf(0), ProgressStyle::kLog);
}

}  // namespace
}  // namespace digits
