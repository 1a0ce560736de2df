// The process that the user started: passes signals on to the supervisor, and its exit code back.
//
//   user -> front -> supervisor -> ranks -> what the ranks start
//
// Why two: a process that is killed by SIGKILL can clean up nothing. The front is small and only waits; if it is killed, the
// supervisor sees their pipe end, and ends the ranks. If the supervisor is killed, the kernel kills the ranks (PR_SET_PDEATHSIG),
// and the front, a subreaper, finds their children among its own and kills them. The supervisor has a session of its own, so
// that a signal for the user's process group (kill -9 %1) takes only one of the two.
#ifndef LOCKSTEP_TOOLS_DDPRUN_FRONT_H_
#define LOCKSTEP_TOOLS_DDPRUN_FRONT_H_

#include "tools/ddprun/launch_signals.h"
#include "tools/ddprun/supervisor.h"

namespace lockstep::ddprun {

// Runs the job and returns the exit code for ddprun. Returns in both processes.
int RunJob(const Job& job, const LaunchSignals& signals);

}  // namespace lockstep::ddprun

#endif  // LOCKSTEP_TOOLS_DDPRUN_FRONT_H_
