// Runs a test's body on ranks that are processes, which the test may stop or kill. They meet in a TCP store whose server is
// a process of its own.
//
//   RankProcesses ranks("gloo", 3, timeout, [](Communicator& comm, const RankProcesses::Tell& tell) {
//     tell("ready");
//     tell(comm.Barrier().Wait().ToString());
//   });
//   ASSERT_EQ(ranks.NextLine(0), "ready");
//   ranks.Signal(2, SIGKILL);
//
// Make it before the test starts any thread: the ranks are forks of the test.
#ifndef LOCKSTEP_TRANSPORTS_TESTING_RANK_PROCESSES_H_
#define LOCKSTEP_TRANSPORTS_TESTING_RANK_PROCESSES_H_

#include <sys/types.h>

#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "transports/transport.h"

namespace lockstep {

class RankProcesses {
 public:
  // Sends one line to the test.
  using Tell = std::function<void(absl::string_view line)>;

  RankProcesses(absl::string_view transport, int size, absl::Duration timeout,
                const std::function<void(Communicator&, const Tell&)>& body);
  // Kills what still runs.
  ~RankProcesses();
  RankProcesses(const RankProcesses&) = delete;
  RankProcesses& operator=(const RankProcesses&) = delete;

  // The next line that `rank` tells, without its end; "" once it has ended. A rank that tells nothing ends with its waits,
  // which all have deadlines.
  std::string NextLine(int rank);
  void Signal(int rank, int signal);
  void SignalStore(int signal);
  pid_t pid(int rank) const { return ranks_[static_cast<size_t>(rank)].pid; }

 private:
  struct Process {
    pid_t pid = -1;
    std::FILE* lines = nullptr;
  };
  // Forks; in the child, runs `body` with the pipe's writing end, and ends.
  static Process Fork(const std::function<void(int pipe)>& body);
  static void End(Process& process);

  Process store_;
  std::vector<Process> ranks_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_TRANSPORTS_TESTING_RANK_PROCESSES_H_
