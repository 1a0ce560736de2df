// What a signal to ddprun does to the ranks, and when SIGKILL follows.
#include <signal.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tools/ddprun/launch.h"
#include "tools/ddprun/launch_signals.h"
#include "tools/ddprun/monotonic_clock.h"
#include "tools/ddprun/pipe.h"

namespace lockstep::ddprun {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kDeafToSigterm[] = "trap '' TERM; echo up; exec sleep 1000";  // what is ignored stays ignored after exec

// Ranks that tell of `count` signals each, then end well (waiting_rank.cc).
LaunchPlan TellingPlan(int ranks, int count) {
  LaunchPlan plan = {{absl::StrCat("--nproc_per_node=", ranks), ProgramPath("waiting_rank"), absl::StrCat(count)}};
  plan.wrapper = {"/usr/bin/env", "OMP_NUM_THREADS=1"};  // no notice about it
  return plan;
}

LaunchPlan WithGracePeriod(LaunchPlan plan, absl::string_view period) {
  plan.arguments.insert(plan.arguments.begin(), absl::StrCat("--grace_period=", period));
  return plan;
}

bool BothUp(Launch& launch) { return launch.WaitFor("[0] up") && launch.WaitFor("[1] up"); }

TEST(Signal, IsForwardedToAllRanksAndTheyMayEndWell) {
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) {
    const std::string name = SignalName(number);
    Launch launch(TellingPlan(2, 1));
    ASSERT_TRUE(BothUp(launch)) << launch.err();
    launch.Signal(number);
    const Outcome outcome = launch.Finish();
    EXPECT_EQ(outcome.exit_code, 0);
    for (const char* rank : {"[0] ", "[1] "}) EXPECT_THAT(outcome.out, HasSubstr(absl::StrCat(rank, "told ", name, "\n")));
    EXPECT_EQ(outcome.err,
              absl::StrCat("ddprun: forwarding ", name, "; ending ranks 0, 1 (", name, ", SIGKILL after 30s)\n"));
  }
}

TEST(Signal, ThatEndsTheRanksIsTheExitCodeAndNoFailureToExplain) {
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) {
    Launch launch(ShellPlan(2, "ulimit -c 0; echo up; exec sleep 1000"));
    ASSERT_TRUE(BothUp(launch)) << launch.err();
    launch.Signal(number);
    const Outcome outcome = launch.Finish();
    EXPECT_EQ(outcome.exit_code, 128 + number);
    EXPECT_THAT(outcome.err, Not(HasSubstr("failed")));
  }
}

TEST(Signal, AfterWhichARankFailsLeavesItsOwnCode) {
  Launch launch(ShellPlan(2, "trap 'echo cannot save >&2; exit 4' TERM; echo up; sleep 1000 & wait"));
  ASSERT_TRUE(BothUp(launch)) << launch.err();
  launch.Signal(SIGTERM);
  const Outcome outcome = launch.Finish();
  EXPECT_EQ(outcome.exit_code, 4);
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("failed first: exit code 4"), HasSubstr("ddprun:   cannot save\n")));
}

TEST(Signal, AtAnyMomentOfTheStartLeavesNothing) {
  for (const char* moment : {"", "OMP_NUM_THREADS is not set", "[0] up"}) {
    for (int round = 0; round < 10; ++round) {
      Launch launch(ShellPlan(2, "echo up; exec sleep 1000"));
      ASSERT_TRUE(launch.WaitFor(moment)) << launch.err();
      launch.Signal(SIGTERM);
      EXPECT_EQ(launch.Finish().exit_code, 128 + SIGTERM) << "after '" << moment << "'";
    }
  }
}

TEST(Signal, ReachesWhatARankStartedToo) {
  Launch launch({{"/bin/sh", "-c", "trap : TERM; \"$0\" 1 & wait; wait", ProgramPath("waiting_rank")}});
  ASSERT_TRUE(launch.WaitFor("[0] up")) << launch.err();
  launch.Signal(SIGTERM);
  EXPECT_THAT(launch.Finish().out, HasSubstr("[0] told SIGTERM\n"));
}

TEST(Signal, WakesARankThatIsStopped) {
  Launch launch(TellingPlan(1, 1));
  ASSERT_TRUE(launch.WaitFor("[0] up pid=") && launch.WaitFor("\n")) << launch.err();
  ASSERT_EQ(kill(NumberAfter(launch.out(), "pid="), SIGSTOP), 0);
  launch.Signal(SIGTERM);
  const Outcome outcome = launch.Finish();
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.out, HasSubstr("[0] told SIGTERM\n"));
}

TEST(Signal, ThatWasIgnoredWhenDdprunStartedIsIgnoredByAll) {
  LaunchPlan plan = TellingPlan(2, 1);
  plan.wrapper = {"/bin/sh", "-c", "trap '' HUP; exec \"$@\"", "sh"};  // as nohup does
  Launch launch(plan);
  ASSERT_TRUE(BothUp(launch)) << launch.err();
  launch.Signal(SIGHUP);
  launch.Signal(SIGTERM);
  const Outcome outcome = launch.Finish();
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.err + outcome.out, AllOf(HasSubstr("[1] told SIGTERM\n"), Not(HasSubstr("HUP"))));
}

TEST(GracePeriod, EndsWithSigkillForARankThatIgnoresSigterm) {
  const std::string script = absl::StrCat("if [ $RANK = 0 ]; then echo up; exec sleep 1000; fi;", kDeafToSigterm);
  Launch launch(WithGracePeriod(ShellPlan(2, script), "300ms"));
  ASSERT_TRUE(BothUp(launch)) << launch.err();
  const absl::Duration begin = MonotonicNow();
  launch.Signal(SIGTERM);
  const Outcome outcome = launch.Finish();
  EXPECT_GE(MonotonicNow() - begin, absl::Milliseconds(300));
  EXPECT_EQ(outcome.exit_code, 128 + SIGTERM) << "rank 0 ended first, by the signal that was forwarded";
  EXPECT_THAT(outcome.err, HasSubstr("ending ranks 0, 1 (SIGTERM, SIGKILL after 300ms)\n"));
  EXPECT_THAT(outcome.err, HasSubstr("ddprun: rank 1 did not end within the grace period of 300ms: killing (SIGKILL)\n"));
  EXPECT_THAT(outcome.err, Not(HasSubstr("failed first")));
}

TEST(GracePeriod, EndsWithSigkillForTheOthersOfARankThatFailed) {
  Pipe input;
  ASSERT_TRUE(OpenPipe(input).ok());
  LaunchPlan plan = ShellPlan(2, absl::StrCat("if [ $RANK = 0 ]; then echo up; read word; exit 3; fi;", kDeafToSigterm));
  plan.input = input.read.get();
  Launch launch(WithGracePeriod(plan, "0.2"));
  ASSERT_TRUE(BothUp(launch)) << launch.err();
  input.write.Close();
  const Outcome outcome = launch.Finish();
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("rank 0 of 2 failed first: exit code 3"),
                                 HasSubstr("ddprun: the others here: rank 1: killed by SIGKILL\n")));
}

TEST(GracePeriod, LetsARankSaveItsState) {
  Pipe input;
  ASSERT_TRUE(OpenPipe(input).ok());
  LaunchPlan plan = TellingPlan(2, 1);
  plan.input = input.read.get();
  Launch launch(plan);
  ASSERT_TRUE(BothUp(launch)) << launch.err();
  launch.Signal(SIGTERM);
  ASSERT_TRUE(launch.WaitFor("[0] told SIGTERM\n") && launch.WaitFor("[1] saved\n")) << launch.err();
  input.write.Close();
  const Outcome outcome = launch.Finish();
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.out, HasSubstr("[0] saved\n"));
}

TEST(GracePeriod, EndsAtTheSecondSigint) {
  Launch launch(TellingPlan(2, 100));
  ASSERT_TRUE(BothUp(launch)) << launch.err();
  launch.Signal(SIGINT);
  ASSERT_TRUE(launch.WaitFor("[0] told SIGINT\n") && launch.WaitFor("[1] told SIGINT\n")) << launch.err();
  launch.Signal(SIGINT);
  const Outcome outcome = launch.Finish();
  EXPECT_EQ(outcome.exit_code, 128 + SIGKILL);
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("ddprun: SIGINT again: killing what is left\n"), Not(HasSubstr("failed first"))));
}

// As a batch system or a container's stop may do it: each process gets the signal itself.
TEST(GracePeriod, IsNotCutShortByOneSigintToBothOfDdprunsProcesses) {
  for (const bool front_first : {true, false}) {
    Launch launch(TellingPlan(1, 2));
    ASSERT_TRUE(launch.WaitFor("[0] up pid=") && launch.WaitFor("\n")) << launch.err();
    const pid_t supervisor = NumberAfter(launch.out(), "ppid=");
    kill(front_first ? launch.pid() : supervisor, SIGINT);
    ASSERT_TRUE(launch.WaitFor("[0] told SIGINT\n")) << launch.err();
    kill(front_first ? supervisor : launch.pid(), SIGINT);
    launch.Signal(SIGTERM);  // taken after the SIGINT that was sent before
    const Outcome outcome = launch.Finish();
    EXPECT_EQ(outcome.exit_code, 0);
    EXPECT_THAT(outcome.err, Not(HasSubstr("SIGINT again")));
    EXPECT_THAT(outcome.out, HasSubstr("[0] told SIGINT\n[0] told SIGTERM\n")) << "a rank is told once";
  }
}

}  // namespace
}  // namespace lockstep::ddprun
