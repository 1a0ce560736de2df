// The launcher as its users meet it: real processes, their environment, their ends, and what is said about them.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::string Ddprun() { return absl::StrCat(getenv("TEST_SRCDIR"), "/", getenv("TEST_WORKSPACE"), "/tools/ddprun/ddprun"); }

// A launch in progress, whose stdout and stderr come through one pipe that every descendant holds open.
class Launch {
 public:
  explicit Launch(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), Ddprun());
    int ends[2];
    EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
    pid_ = fork();
    if (pid_ == 0) {
      dup2(ends[1], STDOUT_FILENO);
      dup2(ends[1], STDERR_FILENO);
      std::vector<char*> argv;
      for (std::string& word : arguments) argv.push_back(&word[0]);
      argv.push_back(nullptr);
      execv(argv[0], argv.data());
      _exit(99);
    }
    close(ends[1]);
    output_fd_ = ends[0];
  }
  ~Launch() { close(output_fd_); }

  void Signal(int signal) const { kill(pid_, signal); }

  // Reads until `text` has come, or until all who could write have ended. False after a minute.
  bool ReadUntil(const std::string& text) {
    while (output_.find(text) == std::string::npos) {
      if (!ReadSome()) return false;
    }
    return true;
  }
  // Until every process that holds the pipe has ended. False after a minute.
  bool ReadToEnd() {
    while (ReadSome()) {
    }
    return ended_;
  }
  // The exit code, or 128 + the signal.
  int Wait() {
    int status = 0;
    waitpid(pid_, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  const std::string& output() const { return output_; }

 private:
  bool ReadSome() {
    pollfd ready{output_fd_, POLLIN, 0};
    if (poll(&ready, 1, 60000) <= 0) return false;
    char chunk[4096];
    const ssize_t n = read(output_fd_, chunk, sizeof(chunk));
    ended_ = n <= 0;
    if (n > 0) output_.append(chunk, static_cast<size_t>(n));
    return n > 0;
  }

  pid_t pid_ = -1;
  int output_fd_ = -1;
  bool ended_ = false;
  std::string output_;
};

struct Outcome {
  int exit_code;
  std::string output;
};
Outcome RunDdprun(const std::vector<std::string>& arguments) {
  Launch launch(arguments);
  EXPECT_TRUE(launch.ReadToEnd());
  const int code = launch.Wait();
  return {code, launch.output()};
}
Outcome RunShell(int ranks, const std::string& script) {
  return RunDdprun({absl::StrCat("--nproc_per_node=", ranks), "/bin/sh", "-c", script});
}

TEST(Ddprun, GivesEachRankItsEnvironmentAndPrefixesItsLines) {
  const Outcome outcome =
      RunShell(3, "echo r=$RANK l=$LOCAL_RANK w=$WORLD_SIZE lw=$LOCAL_WORLD_SIZE a=$MASTER_ADDR; test $MASTER_PORT -gt 0");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
  for (int rank = 0; rank < 3; ++rank) {
    EXPECT_THAT(outcome.output, HasSubstr(absl::StrCat("[", rank, "] r=", rank, " l=", rank, " w=3 lw=3 a=127.0.0.1\n")));
  }
}

TEST(Ddprun, TwentyPairsOfLaunchesAtOneInstantGetPortsOfTheirOwn) {
  const std::vector<std::string> arguments = {"--nproc_per_node=2", "/bin/sh", "-c",
                                              "echo port=$MASTER_PORT.; exec sleep 1000"};
  const auto port = [](const std::string& output) {
    const size_t begin = output.find("port=");
    return output.substr(begin, output.find('.', begin) - begin);
  };
  for (int pair = 0; pair < 20; ++pair) {
    Launch a(arguments), b(arguments);
    ASSERT_TRUE(a.ReadUntil(".\n") && b.ReadUntil(".\n"));
    EXPECT_NE(port(a.output()), port(b.output()));
    a.Signal(SIGTERM);
    b.Signal(SIGTERM);
    ASSERT_TRUE(a.ReadToEnd() && b.ReadToEnd());
    a.Wait();
    b.Wait();
  }
}

TEST(Ddprun, RefusesBadFlagsAndProgramsBeforeAnythingStarts) {
  const struct {
    std::vector<std::string> arguments;
    int exit_code;
    const char* text;
  } kCases[] = {
      {{}, 2, "ddprun"},
      {{"--nproc_per_node=0", "true"}, 2, "--nproc_per_node=0"},
      {{"--nproc_per_node=two", "true"}, 2, "--nproc_per_node=two"},
      {{"--nproc_per_node=-1", "true"}, 2, "--nproc_per_node=-1"},
      {{"--nproc_per_node=", "true"}, 2, "--nproc_per_node="},
      {{"--nnodes=2", "--node_rank=2", "--master_addr=a", "--master_port=1", "true"}, 2, "node_rank"},
      {{"--nnodes=2", "--nproc_per_node=1", "true"}, 2, "master_addr"},
      {{"--master_port=65536", "true"}, 2, "master_port"},
      {{"--no_such_flag=1", "true"}, 2, "no_such_flag"},
      {{"--nproc_per_node=2", "/no/such/program"}, 127, "/no/such/program"},
  };
  for (const auto& c : kCases) {
    const Outcome outcome = RunDdprun(c.arguments);
    EXPECT_EQ(outcome.exit_code, c.exit_code) << c.text << ": " << outcome.output;
    EXPECT_THAT(outcome.output, HasSubstr(c.text));
  }
}

}  // namespace
}  // namespace lockstep
