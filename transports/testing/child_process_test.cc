#include "transports/testing/child_process.h"

#include <signal.h>
#include <unistd.h>

#include <string>

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
  EXPECT_EQ(child.WaitForEnd(), "has been waited for");
}

TEST(ChildProcess, KeepsWhatWasToldBeforeItsEnd) {
  ChildProcess child([](const ChildProcess::Tell& tell) { tell("last words"); });
  EXPECT_EQ(child.WaitForEnd(), "");
  EXPECT_EQ(child.NextLine(), "last words");
}

TEST(ChildProcess, SaysThatAnExpectationFailedInIt) {
  ChildProcess child([](const ChildProcess::Tell&) { ADD_FAILURE() << "a failure in the child, expected here"; });
  EXPECT_EQ(child.WaitForEnd(), "an expectation failed in it");
}

TEST(ChildProcess, ThatThrowsEndsThereAndLeavesItsSiblingsAlone) {
  ChildProcess sibling([](const ChildProcess::Tell& tell) {
    tell("ready");
    pause();
  });
  EXPECT_EQ(sibling.NextLine(), "ready");
  ChildProcess child([](const ChildProcess::Tell& tell) { tell(std::string(1, std::string().at(1))); });
  EXPECT_EQ(child.WaitForEnd(), "killed by Aborted");
  EXPECT_EQ(kill(sibling.pid(), 0), 0);
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
