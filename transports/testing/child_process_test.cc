#include "transports/testing/child_process.h"

#include <signal.h>
#include <unistd.h>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

using ::testing::HasSubstr;

TEST(ChildProcess, TellsLinesWholeAndOneByOne) {
  ChildProcess child([](const ChildProcess::Tell& tell) {
    tell("one");
    tell("two\nhalves");
  });
  EXPECT_EQ(child.NextLine(), "one");
  EXPECT_EQ(child.NextLine(), "two halves");
  EXPECT_EQ(child.NextLine(), "");
  EXPECT_EQ(child.WaitForEnd(), "");
}

TEST(ChildProcess, SaysThatAnExpectationFailedInIt) {
  ChildProcess child([](const ChildProcess::Tell&) { ADD_FAILURE() << "a failure in the child, expected here"; });
  EXPECT_EQ(child.WaitForEnd(), "exited with 1");
}

TEST(ChildProcess, SaysWhichSignalEndedIt) {
  ChildProcess child([](const ChildProcess::Tell& tell) {
    tell("ready");
    pause();
  });
  EXPECT_EQ(child.NextLine(), "ready");
  child.Signal(SIGKILL);
  EXPECT_THAT(child.WaitForEnd(), HasSubstr("Killed"));
}

}  // namespace
}  // namespace lockstep
