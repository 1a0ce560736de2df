// What a rank finds in its environment and its arguments: the oracle is what torchrun was seen to set.
#include <map>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tools/ddprun/launch.h"

namespace lockstep::ddprun {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pair;
using Variables = std::map<std::string, std::string>;

// Runs env as every rank, ddprun itself being started with `inherited` alone.
Outcome RunEnv(std::vector<std::string> flags, const std::vector<std::string>& inherited) {
  LaunchPlan plan;
  plan.wrapper = {"/usr/bin/env", "-i"};
  plan.wrapper.insert(plan.wrapper.end(), inherited.begin(), inherited.end());
  plan.arguments = std::move(flags);
  plan.arguments.push_back("/usr/bin/env");
  return RunDdprun(std::move(plan));
}

// What env printed as `rank`.
Variables VariablesOf(const Outcome& outcome, int rank) {
  Variables variables;
  const std::string prefix = absl::StrCat("[", rank, "] ");
  for (absl::string_view line : absl::StrSplit(outcome.out, '\n')) {
    if (!absl::ConsumePrefix(&line, prefix)) continue;
    const std::pair<std::string, std::string> entry = absl::StrSplit(line, absl::MaxSplits('=', 1));
    EXPECT_TRUE(variables.insert(entry).second) << entry.first << " is there twice";
  }
  return variables;
}

TEST(Environment, IsWhatTorchrunSetsAndNothingElse) {
  const Outcome outcome = RunEnv({"--nproc_per_node=2"}, {});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  for (const char* rank : {"0", "1"}) {
    Variables variables = VariablesOf(outcome, rank[0] - '0');
    int port = 0;
    EXPECT_TRUE(absl::SimpleAtoi(variables["MASTER_PORT"], &port) && port > 0 && port < 65536);
    const Variables expected = {
        {"RANK", rank},
        {"LOCAL_RANK", rank},
        {"GROUP_RANK", "0"},
        {"ROLE_RANK", rank},
        {"ROLE_NAME", "default"},
        {"WORLD_SIZE", "2"},
        {"LOCAL_WORLD_SIZE", "2"},
        {"GROUP_WORLD_SIZE", "1"},
        {"ROLE_WORLD_SIZE", "2"},
        {"MASTER_ADDR", "127.0.0.1"},
        {"MASTER_PORT", absl::StrCat(port)},
        {"OMP_NUM_THREADS", "1"},
        {"TORCHELASTIC_RESTART_COUNT", "0"},
        {"TORCHELASTIC_MAX_RESTARTS", "0"},
        {"TORCHELASTIC_RUN_ID", "none"},
        {"TORCHELASTIC_SIGNALS_TO_HANDLE", "SIGTERM,SIGINT,SIGHUP,SIGQUIT"},
        {"TORCHELASTIC_USE_AGENT_STORE", "False"},  // torchrun's agent hosts the store; here rank 0 does
        {"TORCH_NCCL_ASYNC_ERROR_HANDLING", "1"},
    };
    EXPECT_EQ(variables, expected);
  }
  EXPECT_EQ(VariablesOf(outcome, 0)["MASTER_PORT"], VariablesOf(outcome, 1)["MASTER_PORT"]);
}

TEST(Environment, NodesNumberTheirRanksOneAfterTheOther) {
  const Outcome outcome =
      RunEnv({"--nproc_per_node=2", "--nnodes=3", "--node_rank=1", "--master_addr=node0.example", "--master_port=4000"}, {});
  for (const int local_rank : {0, 1}) {
    const Variables variables = VariablesOf(outcome, 2 + local_rank);
    EXPECT_THAT(variables, AllOf(Contains(Pair("RANK", absl::StrCat(2 + local_rank))),
                                 Contains(Pair("LOCAL_RANK", absl::StrCat(local_rank))), Contains(Pair("GROUP_RANK", "1")),
                                 Contains(Pair("ROLE_RANK", absl::StrCat(2 + local_rank)))));
    EXPECT_THAT(variables, AllOf(Contains(Pair("WORLD_SIZE", "6")), Contains(Pair("LOCAL_WORLD_SIZE", "2")),
                                 Contains(Pair("GROUP_WORLD_SIZE", "3")), Contains(Pair("ROLE_WORLD_SIZE", "6"))));
    EXPECT_THAT(variables, AllOf(Contains(Pair("MASTER_ADDR", "node0.example")), Contains(Pair("MASTER_PORT", "4000"))));
  }
}

TEST(Environment, WhatAnOuterLauncherLeftIsReplacedOrRemoved) {
  const Outcome outcome = RunEnv(
      {"--nproc_per_node=1"}, {"RANK=7", "LOCAL_RANK=7", "WORLD_SIZE=9", "GROUP_RANK=3", "ROLE_NAME=trainer",
                               "MASTER_ADDR=10.0.0.1", "MASTER_PORT=29500", "TORCHELASTIC_RESTART_COUNT=2",
                               "TORCHELASTIC_USE_AGENT_STORE=True", "TORCHELASTIC_ERROR_FILE=/tmp/outer", "LOCKSTEP_TTY=1"});
  const Variables variables = VariablesOf(outcome, 0);
  EXPECT_THAT(variables,
              AllOf(Contains(Pair("RANK", "0")), Contains(Pair("LOCAL_RANK", "0")), Contains(Pair("WORLD_SIZE", "1")),
                    Contains(Pair("GROUP_RANK", "0")), Contains(Pair("ROLE_NAME", "default"))));
  EXPECT_THAT(variables, AllOf(Contains(Pair("MASTER_ADDR", "127.0.0.1")), Not(Contains(Pair("MASTER_PORT", "29500"))),
                               Contains(Pair("TORCHELASTIC_RESTART_COUNT", "0")),
                               Contains(Pair("TORCHELASTIC_USE_AGENT_STORE", "False"))));
  EXPECT_EQ(variables.count("TORCHELASTIC_ERROR_FILE"), 0) << "a rank would write into the outer rank's report";
  EXPECT_EQ(variables.count("LOCKSTEP_TTY"), 0) << "ddprun's output is a pipe";
}

TEST(Environment, WhatTheUserSetStays) {
  const Outcome outcome = RunEnv({"--nproc_per_node=2"}, {"OMP_NUM_THREADS=4", "TORCH_NCCL_ASYNC_ERROR_HANDLING=3",
                                                          "EMPTY=", "EQUATION=a=b", "HOME=/home/some one"});
  for (const int rank : {0, 1}) {
    EXPECT_THAT(
        VariablesOf(outcome, rank),
        AllOf(Contains(Pair("OMP_NUM_THREADS", "4")), Contains(Pair("TORCH_NCCL_ASYNC_ERROR_HANDLING", "3")),
              Contains(Pair("EMPTY", "")), Contains(Pair("EQUATION", "a=b")), Contains(Pair("HOME", "/home/some one"))));
  }
  EXPECT_EQ(outcome.err, "");
}

TEST(OpenMpThreads, AreOneARankAndTheUserIsTold) {
  const Outcome outcome = RunEnv({"--nproc_per_node=2"}, {});
  EXPECT_THAT(VariablesOf(outcome, 1), Contains(Pair("OMP_NUM_THREADS", "1")));
  EXPECT_EQ(outcome.err,
            "ddprun: OMP_NUM_THREADS is not set: each rank gets OMP_NUM_THREADS=1, so that they do not fight for cores\n");
}

TEST(OpenMpThreads, AreLeftAloneForASingleRank) {
  const Outcome outcome = RunEnv({"--nproc_per_node=1"}, {});
  EXPECT_EQ(VariablesOf(outcome, 0).count("OMP_NUM_THREADS"), 0);
  EXPECT_EQ(outcome.err, "");
}

TEST(OpenMpThreads, AnEmptyValueIsAValue) {
  EXPECT_THAT(VariablesOf(RunEnv({"--nproc_per_node=2"}, {"OMP_NUM_THREADS="}), 0), Contains(Pair("OMP_NUM_THREADS", "")));
}

TEST(Arguments, ReachTheProgramAsTheyAre) {
  const Outcome outcome = RunDdprun({{"--nproc_per_node=1", "/usr/bin/printf", "<%s>\\n", "", "two words",
                                      "--nproc_per_node=3", "--help", "$RANK", "--", "*"}});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(std::vector<std::string>(absl::StrSplit(outcome.out, '\n')),
              ElementsAre("[0] <>", "[0] <two words>", "[0] <--nproc_per_node=3>", "[0] <--help>", "[0] <$RANK>", "[0] <-->",
                          "[0] <*>", ""));
}

TEST(Arguments, NameTheLocalRankThroughAMacro) {
  const Outcome outcome =
      RunDdprun({{"--nproc_per_node=2", "/usr/bin/printf", "<%s>\\n", "log${local_rank}.${local_rank}"}});
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("[0] <log0.0>\n"), HasSubstr("[1] <log1.1>\n")));
}

}  // namespace
}  // namespace lockstep::ddprun
