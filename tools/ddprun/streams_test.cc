// What the ranks write arrives: complete, in order, whole lines, on the right stream; and who reads ddprun's stdin.
#include <signal.h>
#include <unistd.h>

#include <map>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tools/ddprun/launch.h"
#include "tools/ddprun/pipe.h"

namespace lockstep::ddprun {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr size_t kMebibyte = 1 << 20;

// One rank, so that nothing but its own output is there.
std::string OutOf(absl::string_view script) {
  const Outcome outcome = RunShell(1, script);
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.err, "");
  return outcome.out;
}

TEST(Lines, OfTwoRanksArriveCompleteInOrderAndUnbroken) {
  constexpr int kLines = 100000;
  const Outcome outcome = RunShell(2, absl::StrCat("seq -f \"line %.0f of rank $RANK\" ", kLines));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  int next[2] = {1, 1};
  for (absl::string_view line : absl::StrSplit(outcome.out, '\n', absl::SkipEmpty())) {
    const int rank = absl::StartsWith(line, "[1]") ? 1 : 0;
    ASSERT_EQ(line, absl::StrCat("[", rank, "] line ", next[rank], " of rank ", rank));
    ++next[rank];
  }
  EXPECT_EQ(next[0], kLines + 1);
  EXPECT_EQ(next[1], kLines + 1);
}

TEST(Lines, OnBothStreamsOfOneFileStayUnbroken) {
  LaunchPlan plan = ShellPlan(
      2, "seq -f \"%.0f of rank $RANK on stderr\" 10000 >&2 & seq -f \"%.0f of rank $RANK on stdout\" 10000; wait");
  plan.wrapper = {"/bin/sh", "-c", "exec 2>&1; OMP_NUM_THREADS=1 exec \"$@\"", "sh"};
  const Outcome outcome = RunDdprun(plan);
  EXPECT_EQ(outcome.exit_code, 0);
  std::map<std::string, int> next;
  for (absl::string_view line : absl::StrSplit(outcome.out, '\n', absl::SkipEmpty())) {
    const std::vector<std::string> words = absl::StrSplit(line, ' ');  // "[1] 17 of rank 1 on stderr"
    ASSERT_EQ(words.size(), 7) << line;
    ASSERT_EQ(words[1], absl::StrCat(++next[absl::StrCat(words[0], words[6])])) << line;
  }
  const std::map<std::string, int> expected = {
      {"[0]stdout", 10000}, {"[0]stderr", 10000}, {"[1]stdout", 10000}, {"[1]stderr", 10000}};
  EXPECT_EQ(next, expected);
}

TEST(Lines, KeepTheirStream) {
  const Outcome outcome = RunShell(1, "echo to stdout; echo to stderr >&2");
  EXPECT_EQ(outcome.out, "[0] to stdout\n");
  EXPECT_EQ(outcome.err, "[0] to stderr\n");
}

TEST(Lines, MayBeEmpty) { EXPECT_EQ(OutOf("echo; echo; echo end"), "[0] \n[0] \n[0] end\n"); }

TEST(Lines, WithoutANewlineAtTheEndGetOne) { EXPECT_EQ(OutOf("printf 'one\\ntwo'"), "[0] one\n[0] two\n"); }

TEST(Lines, AppearWhileTheRankRunsOn) {
  Launch launch(ShellPlan(1, "echo early; exec sleep 1000"));
  EXPECT_TRUE(launch.WaitFor("[0] early\n")) << launch.err();
}

TEST(Lines, OfOneMebibyteStayWhole) {
  const std::string text(kMebibyte, 'x');
  EXPECT_TRUE(OutOf(absl::StrCat("head -c ", kMebibyte, " /dev/zero | tr '\\0' x; echo; echo end")) ==
              absl::StrCat("[0] ", text, "\n[0] end\n"));
}

TEST(Lines, LongerThanThatAreCutAndNothingIsLost) {
  const std::string text(kMebibyte, 'x');
  EXPECT_TRUE(OutOf(absl::StrCat("head -c ", 2 * kMebibyte + 1, " /dev/zero | tr '\\0' x; echo; echo end")) ==
              absl::StrCat("[0] ", text, "\n[0] ", text, "\n[0] x\n[0] end\n"));
}

TEST(Bytes, ThatAreNotTextPassUnchanged) {
  std::string octal, bytes;
  for (int byte = 0; byte < 256; ++byte) {
    if (byte == '\n' || byte == '\r') continue;
    absl::StrAppend(&octal, "\\", absl::Dec(byte >> 6), absl::Dec(byte >> 3 & 7), absl::Dec(byte & 7));
    bytes.push_back(static_cast<char>(byte));
  }
  EXPECT_EQ(OutOf(absl::StrCat("printf '", octal, "\\n'")), absl::StrCat("[0] ", bytes, "\n"));
}

TEST(CarriageReturns, LeaveWhatATerminalWouldShowInTheEnd) {
  EXPECT_EQ(OutOf("printf '10%%\\r20%%\\r100%%\\nnext\\r\\n'"), "[0] 100%\n[0] next\n");
}

// stdout is a pipe that is full (64 KiB) before ddprun starts, and stays so until rank 0 has failed.
TEST(AReader, WhoStopsReadingDoesNotHideAFailure) {
  LaunchPlan plan = ShellPlan(2, "if [ $RANK = 0 ]; then echo held; echo up >&2; exit 3; fi; exec seq 100000000");
  plan.wrapper = {"/bin/sh", "-c", "head -c 65536 /dev/zero; exec \"$@\"", "sh"};
  Launch launch(plan);
  launch.PauseReadingOut();
  ASSERT_TRUE(launch.WaitFor("[0] up\n")) << launch.err();
  ASSERT_TRUE(launch.WaitFor("rank 0 of 2 failed first: exit code 3")) << launch.err();
  EXPECT_EQ(launch.out(), "");
  launch.ResumeReadingOut();
  const Outcome outcome = launch.Finish();
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_THAT(outcome.out, HasSubstr("[0] held\n"));
}

TEST(AReader, WhoGoesAwayEndsARankThatWritesByASigpipe) {
  Launch launch(ShellPlan(1, "exec seq 1000000000"));
  ASSERT_TRUE(launch.WaitFor("[0] 100\n"));
  launch.CloseOut();
  const Outcome outcome = launch.Finish();
  EXPECT_EQ(outcome.exit_code, 128 + SIGPIPE);
  EXPECT_THAT(outcome.err, HasSubstr("rank 0 of 1 failed first: killed by SIGPIPE"));
}

TEST(AFullDisk, IsReported) {
  LaunchPlan plan = ShellPlan(1, "echo lost; echo kept >&2");
  plan.wrapper = {"/bin/sh", "-c", "exec \"$@\" >/dev/full", "sh"};
  EXPECT_EQ(RunDdprun(plan).err, "[0] kept\nddprun: stdout: some output is lost: No space left on device\n");
}

TEST(ClosedStreams, DoNotConfuseTheRanksWithTheirPipes) {
  LaunchPlan plan = ShellPlan(1, "echo out; echo err >&2; cat; exit 5");
  plan.wrapper = {"/bin/sh", "-c", "exec \"$@\" <&- >&-", "sh"};
  const Outcome outcome = RunDdprun(plan);
  EXPECT_EQ(outcome.exit_code, 5);
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("[0] err\n"), HasSubstr("ddprun:   out\n")));
}

// No pipe of another rank, no port: whoever holds those open keeps them from ending.
TEST(Descriptors, OfARankAreItsThreeAndThoseThatDdprunWasGiven) {
  LaunchPlan plan = ShellPlan(3, "ls /proc/self/fd | wc -l");
  plan.wrapper = {"/bin/sh", "-c", "ls /proc/self/fd | wc -l; exec \"$@\"", "sh"};
  const Outcome outcome = RunDdprun(plan);
  const std::string given = outcome.out.substr(0, outcome.out.find('\n'));
  for (const int rank : {0, 1, 2}) EXPECT_THAT(outcome.out, HasSubstr(absl::StrCat("[", rank, "] ", given, "\n")));
}

TEST(Stdin, IsReadByRankZeroAloneAndToItsEnd) {
  Pipe input;
  ASSERT_TRUE(OpenPipe(input).ok());
  LaunchPlan plan = ShellPlan(3, "cat; echo end");
  plan.input = input.read.get();
  Launch launch(plan);
  ASSERT_TRUE(launch.WaitFor("[1] end\n") && launch.WaitFor("[2] end\n")) << launch.err();
  ASSERT_EQ(write(input.write.get(), "one\ntwo\n", 8), 8);
  ASSERT_TRUE(launch.WaitFor("[0] one\n[0] two\n")) << launch.err();
  EXPECT_THAT(launch.out(), Not(HasSubstr("[0] end")));
  input.write.Close();
  const Outcome outcome = launch.Finish();
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.out, HasSubstr("[0] one\n[0] two\n[0] end\n"));
}

TEST(Stdin, IsReadByNobodyOnALaterNode) {
  Pipe input;
  ASSERT_TRUE(OpenPipe(input).ok());
  LaunchPlan plan = {{"--nnodes=2", "--node_rank=1", "--master_addr=10.0.0.1", "--master_port=4000", "/bin/cat"}};
  plan.input = input.read.get();
  ASSERT_EQ(write(input.write.get(), "one\n", 4), 4);
  const Outcome outcome = RunDdprun(plan);
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.out, "");
}

}  // namespace
}  // namespace lockstep::ddprun
