#include "tools/ddprun/front.h"

#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <utility>

#include "tools/ddprun/pipe.h"
#include "tools/ddprun/process_tree.h"

namespace lockstep::ddprun {
namespace {

constexpr absl::Duration kKillLimit = absl::Seconds(10);

int Fail(const absl::Status& status) {
  fprintf(stderr, "ddprun: %s\n", std::string(status.message()).c_str());
  return 1;
}

// Waits for the supervisor, passing signals on; returns its wait status.
int Attend(pid_t supervisor, const LaunchSignals& signals) {
  for (;;) {
    const int taken = sigwaitinfo(&signals.watched(), nullptr);
    int wait_status = 0;
    if (taken > 0 && taken != SIGCHLD) kill(supervisor, taken);
    if (taken == SIGCHLD && waitpid(supervisor, &wait_status, WNOHANG) == supervisor) return wait_status;
  }
}

int AfterKilledSupervisor(int signal_number) {
  const bool all_ended = EndDescendants(kKillLimit);
  fprintf(stderr, "ddprun: its supervisor was killed by %s; %s\n", SignalName(signal_number).c_str(),
          all_ended ? "all ranks were killed" : "some of the ranks' processes could not be killed");
  return 128 + signal_number;
}

}  // namespace

int RunJob(const Job& job, const LaunchSignals& signals) {
  Pipe alive;  // nobody writes: its end tells the supervisor that the front is gone
  if (const absl::Status status = BecomeSubreaper(); !status.ok()) return Fail(status);
  if (const absl::Status status = OpenPipe(alive); !status.ok()) return Fail(status);
  const pid_t supervisor = fork();
  if (supervisor < 0) return Fail(absl::ErrnoToStatus(errno, "cannot start a process (limit: ulimit -u)"));
  if (supervisor == 0) {
    alive.write.Close();
    setsid();
    prctl(PR_SET_NAME, "ddprun-ranks", 0, 0, 0);  // in ps: which of the two is the parent of the ranks
    return Supervise(job, signals, std::move(alive.read));
  }
  alive.read.Close();
  const int wait_status = Attend(supervisor, signals);
  return WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : AfterKilledSupervisor(WTERMSIG(wait_status));
}

}  // namespace lockstep::ddprun
