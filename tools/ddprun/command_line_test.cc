// The command line: every mistake is one line on stderr that names the flag, its value and what is allowed.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tools/ddprun/launch.h"
#include "transports/net/file_descriptor.h"

namespace lockstep::ddprun {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

using Words = std::vector<std::string>;

constexpr char kRanks[] = ": must be a whole number from 1 to 1024";
constexpr char kNodes[] = ": must be a whole number from 1 to 65536";
constexpr char kNodeRanks[] = ": must be a whole number from 0 to 65535";
constexpr char kPorts[] = ": must be a whole number from 1 to 65535";
constexpr char kTimes[] = ": must be seconds or a duration, as 30 or 500ms or 2m, from 0 to 24h";
constexpr char kHosts[] =
    ": must be a host name or an address alone, as node0 or 10.0.0.1 or ::1; the port is given by --master_port";
constexpr char kUnknown[] =
    "; known: --nproc_per_node --nnodes --node_rank --master_addr --master_port --grace_period --help. The program's own "
    "flags "
    "go after the program.";
constexpr char kNoProgram[] = "no program to start: ddprun [flags] program [arguments]; ddprun --help lists the flags";
constexpr char kSamePlace[] = ": every node must name itself and the same place of rank 0";

struct Mistake {
  Words arguments;
  std::string line;  // without "ddprun: "
};

// One flag with a value that is refused.
Mistake Value(const std::string& argument, const char* allowed) { return {{argument, "/bin/true"}, argument + allowed}; }

std::vector<Mistake> Mistakes() {
  return {
      Value("--nproc_per_node=0", kRanks),
      Value("--nproc_per_node=-1", kRanks),
      Value("--nproc_per_node=1025", kRanks),
      Value("--nproc_per_node=two", kRanks),
      Value("--nproc_per_node=2x", kRanks),
      Value("--nproc_per_node=2.0", kRanks),
      Value("--nproc_per_node=0x2", kRanks),
      Value("--nproc_per_node=99999999999999999999", kRanks),
      Value("--nproc_per_node=gpu", kRanks),
      Value("--nnodes=0", kNodes),
      Value("--nnodes=1:4", kNodes),
      Value("--nnodes=65537", kNodes),
      Value("--node_rank=-1", kNodeRanks),
      Value("--node_rank=first", kNodeRanks),
      Value("--node_rank=65536", kNodeRanks),
      Value("--master_port=0", kPorts),
      Value("--master_port=65536", kPorts),
      Value("--master_port=http", kPorts),
      Value("--master_addr=node0:4000", kHosts),
      Value("--master_addr=[::1]", kHosts),
      Value("--master_addr=tcp://node0", kHosts),
      Value("--master_addr=node0 node1", kHosts),
      Value("--grace_period=-1", kTimes),
      Value("--grace_period=soon", kTimes),
      Value("--grace_period=5 minutes", kTimes),
      Value("--grace_period=25h", kTimes),
      Value("--grace_period=nan", kTimes),
      Value("--grace_period=inf", kTimes),
      {{"--nproc_per_node=", "/bin/true"}, "--nproc_per_node needs a value: --nproc_per_node=N"},
      {{"--nproc_per_node", "", "/bin/true"}, "--nproc_per_node needs a value: --nproc_per_node=N"},
      {{"--nproc_per_node", "--nnodes=1", "/bin/true"}, "--nproc_per_node needs a value: --nproc_per_node=N"},
      {{"--nproc_per_node"}, "--nproc_per_node needs a value: --nproc_per_node=N"},
      {{"--nproc-per-node", "two", "/bin/true"}, absl::StrCat("--nproc_per_node=two", kRanks)},
      {{"--nproc_per_node=2\nddprun: all is well", "/bin/true"},
       absl::StrCat("--nproc_per_node=2\\nddprun: all is well", kRanks)},
      {{"--no_such_flag=1", "/bin/true"}, absl::StrCat("unknown flag --no_such_flag=1", kUnknown)},
      {{"-n", "2", "/bin/true"}, absl::StrCat("unknown flag -n", kUnknown)},
      {{"-nproc_per_node=2", "/bin/true"}, absl::StrCat("unknown flag -nproc_per_node=2", kUnknown)},
      {{"--help=yes"}, absl::StrCat("unknown flag --help=yes", kUnknown)},
      {{"-"}, absl::StrCat("unknown flag -", kUnknown)},
      {{}, kNoProgram},
      {{"--nproc_per_node=2"}, kNoProgram},
      {{"--"}, kNoProgram},
      {{""}, kNoProgram},
      {{"--node_rank=1", "/bin/true"}, "--node_rank=1 contradicts --nnodes=1: must be from 0 to 0"},
      {{"--nnodes=2", "--node_rank=2", "--master_addr=a", "--master_port=1", "/bin/true"},
       "--node_rank=2 contradicts --nnodes=2: must be from 0 to 1"},
      {{"--nnodes=2", "/bin/true"},
       absl::StrCat("--nnodes=2 also needs --node_rank, --master_addr, --master_port", kSamePlace)},
      {{"--nnodes=2", "--node_rank=0", "--master_addr=a", "/bin/true"},
       absl::StrCat("--nnodes=2 also needs --master_port", kSamePlace)},
  };
}

TEST(Mistakes, AreOneLineThatNamesTheFlagItsValueAndWhatIsAllowed) {
  for (const Mistake& mistake : Mistakes()) {
    const Outcome outcome = RunDdprun({mistake.arguments});
    EXPECT_EQ(outcome.exit_code, 2) << mistake.line;
    EXPECT_EQ(outcome.err, absl::StrCat("ddprun: ", mistake.line, "\n"));
    EXPECT_EQ(outcome.out, "");
  }
}

TEST(Flags, AreTakenInEverySpellingAndTheLastCounts) {
  const Words kSpellings[] = {{"--nproc_per_node=2"},
                              {"--nproc-per-node=2"},
                              {"--nproc_per_node", "2"},
                              {"--nproc-per-node", "2", "--"},
                              {"--nproc_per_node=3", "--nproc_per_node=2"}};
  for (Words arguments : kSpellings) {
    for (const char* word : {"/bin/sh", "-c", "echo of $WORLD_SIZE"}) arguments.push_back(word);
    const Outcome outcome = RunDdprun({arguments});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_THAT(outcome.out, AllOf(HasSubstr("[0] of 2\n"), HasSubstr("[1] of 2\n")));
  }
}

TEST(Flags, AtTheirLimitsAreTaken) {
  for (const Words& flags :
       std::vector<Words>{{"--grace_period=0"},
                          {"--grace_period=24h"},
                          {"--grace_period=1.5"},
                          {"--master_port=65535"},
                          {"--master_addr=::1"},
                          {"--node_rank=0"},
                          {"--nnodes=65536", "--node_rank=65535", "--master_addr=a", "--master_port=1"}}) {
    Words arguments = flags;
    arguments.push_back("/bin/true");
    const Outcome outcome = RunDdprun({arguments});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  }
}

TEST(Help, IsWrittenToStdoutAndListsEveryFlag) {
  const Outcome outcome = RunDdprun({{"--help"}});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.err, "");
  for (const char* flag : {"--nproc_per_node=N", "--nnodes=N", "--node_rank=I", "--master_addr=HOST", "--master_port=PORT",
                           "--grace_period=TIME"}) {
    EXPECT_THAT(outcome.out, HasSubstr(flag));
  }
}

// Makes a folder that holds: program (may be executed), text (may not), folder; and runs ddprun there with it alone in PATH.
class Program : public testing::Test {
 protected:
  Program() : folder_(absl::StrCat(testing::TempDir(), "/programs")) {
    mkdir(folder_.c_str(), 0755);
    Write("program", 0755);
    Write("text", 0644);
    mkdir((folder_ + "/folder").c_str(), 0755);
  }
  void Write(const std::string& name, mode_t mode) const {
    const std::string path = absl::StrCat(folder_, "/", name);
    const FileDescriptor file(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode));
    constexpr char kText[] = "#!/bin/sh\necho started as $0\n";
    EXPECT_EQ(write(file.get(), kText, sizeof(kText) - 1), static_cast<ssize_t>(sizeof(kText) - 1));
  }
  Outcome Run(const std::string& program, const std::string& search_path) const {
    LaunchPlan plan;
    plan.wrapper = {"/usr/bin/env", "-C", folder_, absl::StrCat("PATH=", search_path), "OMP_NUM_THREADS=1"};
    plan.arguments = {"--nproc_per_node=2", program};
    return RunDdprun(plan);
  }

  const std::string folder_;
};

TEST_F(Program, IsFoundByItsPathOrInPath) {
  const std::pair<std::string, std::string> kWays[] = {{absl::StrCat(folder_, "/program"), "/bin"},
                                                       {"./program", "/bin"},
                                                       {"program", absl::StrCat("/no/such/folder:", folder_)}};
  for (const auto& [program, search_path] : kWays) {
    const Outcome outcome = Run(program, search_path);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_THAT(outcome.out, HasSubstr("[1] started as "));
  }
}

TEST_F(Program, ThatIsMissingIs127AndOneLine) {
  EXPECT_EQ(Run("/no/such/program", "/bin").exit_code, 127);
  EXPECT_EQ(Run("/no/such/program", "/bin").err, "ddprun: /no/such/program: No such file or directory\n");
  EXPECT_EQ(Run("no-such-program", "/bin").exit_code, 127);
  EXPECT_EQ(Run("no-such-program", "/bin").err, "ddprun: no program no-such-program in PATH\n");
  EXPECT_EQ(Run("program", "/bin").exit_code, 127);
  EXPECT_EQ(Run("program", "/bin").err, "ddprun: no program program in PATH; for the one in this folder write ./program\n");
}

TEST_F(Program, ThatMayNotBeExecutedIs126AndOneLine) {
  EXPECT_EQ(Run("./text", "/bin").exit_code, 126);
  EXPECT_EQ(Run("./text", "/bin").err, "ddprun: ./text may not be executed: Permission denied (chmod +x?)\n");
  EXPECT_EQ(Run("text", folder_).exit_code, 126);
  EXPECT_EQ(Run("./folder", "/bin").exit_code, 126);
  EXPECT_EQ(Run("./folder", "/bin").err, "ddprun: ./folder is a folder, not a program\n");
  EXPECT_EQ(Run("./program/x", "/bin").exit_code, 127);
}

}  // namespace
}  // namespace lockstep::ddprun
