// Nothing that a rank started outlives the launch, whoever is killed.
#include <signal.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tools/ddprun/launch.h"

namespace lockstep::ddprun {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Launch::Finish() waits for every process that inherited the launch's life pipe, wherever in the tree it went.

// A daemon as they come: a session of its own, its parent gone, its streams closed, deaf to requests.
constexpr char kStartsDaemon[] =
    "(setsid sh -c 'trap \"\" TERM INT HUP QUIT; exec sleep 1000 </dev/null >/dev/null 2>&1' &);";
// A child in the rank's own process group.
constexpr char kStartsChild[] = "sleep 1000 &";
constexpr char kUpAndWait[] = "echo up ppid=$PPID; wait; exec sleep 1000";

LaunchPlan DaemonsAndChildren(int ranks, absl::string_view then) {
  LaunchPlan plan = ShellPlan(ranks, absl::StrCat(kStartsDaemon, kStartsChild, then));
  plan.arguments.insert(plan.arguments.begin(), "--grace_period=100ms");
  return plan;
}

bool BothUp(Launch& launch) { return launch.WaitFor("[0] up ppid=") && launch.WaitFor("[1] up ppid="); }

TEST(Nothing, IsLeftWhenDdprunIsKilled) {
  Launch launch(DaemonsAndChildren(2, kUpAndWait));
  ASSERT_TRUE(BothUp(launch)) << launch.err();
  launch.Signal(SIGKILL);
  const Outcome outcome = launch.Finish();
  EXPECT_EQ(outcome.exit_code, 128 + SIGKILL);
  EXPECT_THAT(outcome.err, HasSubstr("ddprun: the launcher was killed; ending ranks 0, 1 (SIGTERM, SIGKILL after 100ms)\n"));
}

TEST(Nothing, IsLeftWhenDdprunIsKilledAndTheRanksIgnoreSigterm) {
  Launch launch(DaemonsAndChildren(2, absl::StrCat("trap '' TERM;", kUpAndWait)));
  ASSERT_TRUE(BothUp(launch)) << launch.err();
  launch.Signal(SIGKILL);
  EXPECT_THAT(launch.Finish().err, HasSubstr("ddprun: ranks 0, 1 did not end within the grace period of 100ms"));
}

TEST(Nothing, IsLeftWhenTheSupervisorIsKilled) {
  Launch launch(DaemonsAndChildren(2, absl::StrCat("trap '' TERM;", kUpAndWait)));
  ASSERT_TRUE(BothUp(launch)) << launch.err();
  ASSERT_EQ(kill(NumberAfter(launch.out(), "ppid="), SIGKILL), 0);
  const Outcome outcome = launch.Finish();
  EXPECT_EQ(outcome.exit_code, 128 + SIGKILL);
  EXPECT_THAT(outcome.err, HasSubstr("ddprun: its supervisor was killed by SIGKILL; all ranks were killed\n"));
}

TEST(Nothing, IsLeftWhenDdprunIsKilledWhileItStartsRanks) {
  for (int round = 0; round < 10; ++round) {
    Launch launch(ShellPlan(8, "echo up; exec sleep 1000"));
    ASSERT_TRUE(launch.WaitFor("OMP_NUM_THREADS is not set")) << launch.err();
    launch.Signal(SIGKILL);
    EXPECT_EQ(launch.Finish().exit_code, 128 + SIGKILL);
  }
}

TEST(Nothing, IsLeftWhenARankFails) {
  Launch launch(DaemonsAndChildren(2, "if [ $RANK = 1 ]; then exit 7; fi; sleep 1000"));
  const Outcome outcome = launch.Finish();
  EXPECT_EQ(outcome.exit_code, 7);
  EXPECT_THAT(outcome.err, Not(HasSubstr("left")));
}

TEST(Nothing, IsLeftWhenAllRanksEndedWellAndTheUserIsTold) {
  const Outcome outcome = RunDdprun(DaemonsAndChildren(2, "exit 0"));
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.err, HasSubstr("ddprun: all ranks have ended, but left processes behind; ending them\n"));
}

// Of the ranks themselves, that is: they are tied to the supervisor by the kernel, what they started is not.
TEST(Nothing, IsLeftOfTheRanksWhenBothProcessesAreKilledAtOnce) {
  Launch launch(ShellPlan(2, "trap '' TERM; echo up ppid=$PPID; exec sleep 1000"));
  ASSERT_TRUE(BothUp(launch)) << launch.err();
  launch.Signal(SIGKILL);
  ASSERT_EQ(kill(NumberAfter(launch.out(), "ppid="), SIGKILL), 0);
  EXPECT_EQ(launch.Finish().exit_code, 128 + SIGKILL);
}

TEST(Nothing, IsLeftOfALaunchWithinALaunch) {
  LaunchPlan plan = ShellPlan(2, kUpAndWait);
  plan.arguments.insert(plan.arguments.begin(), {"--nproc_per_node=2", ProgramPath("ddprun")});
  Launch launch(plan);
  for (const char* rank : {"[0] [0] up", "[0] [1] up", "[1] [0] up", "[1] [1] up"}) {
    ASSERT_TRUE(launch.WaitFor(rank)) << rank << launch.err();
  }
  launch.Signal(SIGKILL);
  EXPECT_EQ(launch.Finish().exit_code, 128 + SIGKILL);
}

// What stands behind bash's `exec > >(tee log)` sees its input end when the rank does, and writes the rest only then.
TEST(AHelper, MayFinishAfterItsRankHasEnded) {
  LaunchPlan plan = {{"/bin/bash", "-c", "exec > >(cat; echo late); echo early"}};
  const Outcome outcome = RunDdprun(plan);
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.out, "[0] early\n[0] late\n");
  EXPECT_EQ(outcome.err, "");
}

}  // namespace
}  // namespace lockstep::ddprun
