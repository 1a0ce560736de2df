// Runs a test's body on ranks that are processes, which the test may stop or kill. They meet in a TCP store whose server is
// a process of its own.
//
//   RankProcesses ranks("gloo", 3, timeout, [](std::unique_ptr<Communicator> comm, Store&, const RankProcesses::Tell& tell) {
//     tell("ready");
//     tell(comm->Barrier().Wait().ToString());
//   });
//   ASSERT_EQ(ranks.NextLine(0), "ready");
//   ranks.Signal(2, SIGKILL);
//
// Make it before the test starts any thread: the ranks are forks of the test.
#ifndef LOCKSTEP_TRANSPORTS_TESTING_RANK_PROCESSES_H_
#define LOCKSTEP_TRANSPORTS_TESTING_RANK_PROCESSES_H_

#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "transports/store/store.h"
#include "transports/testing/child_process.h"
#include "transports/transport.h"

namespace lockstep {

class RankProcesses {
 public:
  using Tell = ChildProcess::Tell;
  using Body = std::function<void(std::unique_ptr<Communicator>, Store&, const Tell&)>;

  // The ranks, and the store's server, end with this object.
  RankProcesses(absl::string_view transport, int size, absl::Duration timeout, const Body& body);

  // As those of ChildProcess.
  std::string NextLine(int rank) { return at(rank).NextLine(); }
  std::string WaitForEnd(int rank) { return at(rank).WaitForEnd(); }
  void Signal(int rank, int signal) { at(rank).Signal(signal); }
  void SignalStore(int signal) { store_.Signal(signal); }
  pid_t pid(int rank) { return at(rank).pid(); }

 private:
  ChildProcess& at(int rank) { return *ranks_[static_cast<size_t>(rank)]; }

  ChildProcess store_;
  std::vector<std::unique_ptr<ChildProcess>> ranks_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_TRANSPORTS_TESTING_RANK_PROCESSES_H_
