// How a job that fails ends: its exit code, what becomes of the other ranks, and what is said about it.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tools/ddprun/launch.h"
#include "tools/ddprun/pipe.h"

namespace lockstep::ddprun {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;
using ::testing::StartsWith;

// Whether the process has ended, reaped or not, before the deadline.
bool WaitForEndOf(pid_t pid) {
  const FileDescriptor process(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  pollfd ended{process.get(), POLLIN, 0};
  return !process.open() || poll(&ended, 1, static_cast<int>(absl::ToInt64Milliseconds(kDeadline))) == 1;
}

TEST(Success, IsExitCodeZeroWithoutAWord) {
  const Outcome outcome = RunDdprun({{"--nproc_per_node=1", "/bin/true"}});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.out + outcome.err, "");
}

TEST(Success, OfOneRankLetsTheOthersGoOn) {
  Pipe input;
  ASSERT_TRUE(OpenPipe(input).ok());
  LaunchPlan plan = ShellPlan(2, "echo pid=$$; if [ $RANK = 1 ]; then exit 0; fi; read word; echo late $word");
  plan.input = input.read.get();
  Launch launch(plan);
  ASSERT_TRUE(launch.WaitFor("[0] pid=") && launch.WaitFor("[1] pid=")) << launch.err();
  ASSERT_TRUE(WaitForEndOf(NumberAfter(launch.out(), "[1] pid=")));
  ASSERT_EQ(write(input.write.get(), "word\n", 5), 5);
  const Outcome outcome = launch.Finish();
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("[0] late word\n"));
}

TEST(Failure, ExitsWithTheCodeOfTheRankThatFailedFirst) {
  for (const int code : {1, 2, 3, 126, 127, 255}) {
    const Outcome outcome = RunShell(3, absl::StrCat("if [ $RANK = 1 ]; then exit ", code, "; fi; exec sleep 1000"));
    EXPECT_EQ(outcome.exit_code, code);
    EXPECT_THAT(outcome.err, HasSubstr(absl::StrCat("rank 1 of 3 failed first: exit code ", code, " (host ")));
  }
}

TEST(Failure, BySignalIs128PlusItsNumberAndNamed) {
  const std::pair<int, const char*> kSignals[] = {{SIGABRT, "SIGABRT"}, {SIGSEGV, "SIGSEGV"}, {SIGKILL, "SIGKILL"},
                                                  {SIGTERM, "SIGTERM"}, {SIGINT, "SIGINT"},   {40, "signal 40"}};
  for (const auto& [number, name] : kSignals) {
    const Outcome outcome =
        RunShell(2, absl::StrCat("ulimit -c 0; if [ $RANK = 0 ]; then kill -", number, " $$; fi; exec sleep 1000"));
    EXPECT_EQ(outcome.exit_code, 128 + number);
    EXPECT_THAT(outcome.err, HasSubstr(absl::StrCat("rank 0 of 2 failed first: killed by ", name, " (host ")));
  }
}

TEST(Failure, EndsTheOthersAtOnceAndSaysHow) {
  Pipe input;
  ASSERT_TRUE(OpenPipe(input).ok());
  LaunchPlan plan = ShellPlan(4,
                              "case $RANK in"
                              " 0) read word; exit 9;;"
                              " 3) echo up; exec sleep 1000;;"
                              " *) trap 'exit 5' TERM; echo up; sleep 1000 & wait;;"
                              "esac");
  plan.input = input.read.get();
  Launch launch(plan);
  for (const int rank : {1, 2, 3}) ASSERT_TRUE(launch.WaitFor(absl::StrCat("[", rank, "] up\n"))) << launch.err();
  input.write.Close();
  const Outcome outcome = launch.Finish();
  EXPECT_EQ(outcome.exit_code, 9);
  EXPECT_THAT(outcome.err,
              HasSubstr("ddprun: rank 0 failed (exit code 9); ending ranks 1, 2, 3 (SIGTERM, SIGKILL after 30s)\n"));
  EXPECT_THAT(outcome.err, EndsWith("\nddprun: the others here: ranks 1, 2: exit code 5; rank 3: killed by SIGTERM\n"));
}

TEST(Failure, IsToldOnStderrInAFixedForm) {
  const Outcome outcome =
      RunShell(1, "echo to stdout; echo 'terminate called: no such tensor' >&2; printf 'not a whole line' >&2; exit 3");
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_THAT(outcome.out, "[0] to stdout\n");
  EXPECT_THAT(outcome.err, MatchesRegex("\\[0\\] terminate called: no such tensor\n"
                                        "\\[0\\] not a whole line\n"
                                        "ddprun: rank 0 of 1 failed first: exit code 3 "
                                        "\\(host [^ ,]+, pid [0-9]+, after [0-9]+\\.[0-9][0-9] s\\)\n"
                                        "ddprun: what it wrote last:\n"
                                        "(ddprun:   to stdout\n)?"
                                        "ddprun:   terminate called: no such tensor\n"
                                        "(ddprun:   to stdout\n)?"
                                        "ddprun:   not a whole line\n"
                                        "(ddprun:   to stdout\n)?"));
}

TEST(Failure, QuotesTheLastTenLinesEachCutToAScreensWidth) {
  const Outcome outcome = RunShell(1, "seq 1 100; head -c 501 /dev/zero | tr '\\000' x; exit 1");
  std::string expected = "ddprun: what it wrote last:\n";
  for (int i = 92; i <= 100; ++i) absl::StrAppend(&expected, "ddprun:   ", i, "\n");
  absl::StrAppend(&expected, "ddprun:   ", std::string(500, 'x'), "...\n");
  EXPECT_THAT(outcome.err, EndsWith(expected));
}

// Several ranks end while the launcher has no chance to look: the first one is named all the same.
TEST(Failure, NamesTheFirstOfSeveralThatEndedWhileTheLauncherStoodStill) {
  Launch launch(ShellPlan(4, "echo ppid=$PPID pid=$$; exec sleep 1000"));
  std::vector<pid_t> pids;
  for (int rank = 0; rank < 4; ++rank) {
    const std::string label = absl::StrCat("[", rank, "] ppid=");
    ASSERT_TRUE(launch.WaitFor(label)) << launch.err();
    pids.push_back(NumberAfter(launch.out().substr(launch.out().find(label)), " pid="));
  }
  const pid_t supervisor = NumberAfter(launch.out(), "ppid=");
  ASSERT_EQ(kill(supervisor, SIGSTOP), 0);
  for (const int rank : {2, 3, 0, 1}) {
    ASSERT_EQ(kill(pids[rank], SIGKILL), 0);
    ASSERT_TRUE(WaitForEndOf(pids[rank]));
  }
  ASSERT_EQ(kill(supervisor, SIGCONT), 0);
  const Outcome outcome = launch.Finish();
  EXPECT_EQ(outcome.exit_code, 128 + SIGKILL);
  EXPECT_THAT(outcome.err, HasSubstr("rank 2 of 4 failed first: killed by SIGKILL"));
}

TEST(Failure, NamesTheGlobalRankOnALaterNode) {
  const Outcome outcome =
      RunDdprun({{"--nproc_per_node=2", "--nnodes=2", "--node_rank=1", "--master_addr=10.0.0.1", "--master_port=4000",
                  "/bin/sh", "-c", "if [ $RANK = 3 ]; then exit 1; fi; exec sleep 1000"}});
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("rank 3 of 4 failed first"), HasSubstr("ending rank 2 ")));
}

TEST(Program, ThatTheKernelRefusesIs126WithTheReason) {
  const std::string folder = testing::TempDir();
  const std::pair<std::string, const char*> kFiles[] = {
      {"not a program", "rank 0 of 1 failed first: could not be executed: Exec format error (host "},
      {"#!/no/such/interpreter\n", "could not be executed: No such file or directory (the interpreter that its first line"}};
  for (const auto& [content, text] : kFiles) {
    const std::string path = absl::StrCat(folder, "/refused");
    FileDescriptor file(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755));
    ASSERT_EQ(write(file.get(), content.data(), content.size()), static_cast<ssize_t>(content.size()));
    file.Close();
    const Outcome outcome = RunDdprun({{path}});
    EXPECT_EQ(outcome.exit_code, 126);
    EXPECT_THAT(outcome.err, HasSubstr(text));
  }
}

// A limit of 20 open files is enough for the first ranks only, one of 8 not even for the first.
TEST(Start, OfTooManyRanksForTheLimitOfFilesEndsThoseThatRunAndNamesTheLimit) {
  for (const auto& [limit, some_started] : {std::make_pair(8, false), std::make_pair(20, true)}) {
    LaunchPlan plan = ShellPlan(16, "exec sleep 1000");
    plan.wrapper = {"/bin/sh", "-c", absl::StrCat("ulimit -n ", limit, "; export OMP_NUM_THREADS=1; exec \"$@\""), "sh"};
    const Outcome outcome = RunDdprun(plan);
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_THAT(outcome.err,
                StartsWith("ddprun: could not start all ranks: cannot make a pipe (limit: ulimit -n): Too many open files"));
    EXPECT_EQ(absl::StrContains(outcome.err, "; ending rank"), some_started) << outcome.err;
    EXPECT_THAT(outcome.err, Not(HasSubstr("failed first"))) << "no rank failed, all were ended";
  }
}

}  // namespace
}  // namespace lockstep::ddprun
