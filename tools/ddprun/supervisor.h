// Starts the ranks of a node, stays with them, and ends only when everything that they started has ended.
//
// It runs in a process of its own, apart from the one that the user started (front.h), as the parent of the ranks. Either of
// the two may be killed: the other then ends the ranks. Nothing in it waits on anything but its one poll, so that no slow
// reader of the output and no stuck rank keeps it from noticing the rest.
#ifndef LOCKSTEP_TOOLS_DDPRUN_SUPERVISOR_H_
#define LOCKSTEP_TOOLS_DDPRUN_SUPERVISOR_H_

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "tools/ddprun/launch_signals.h"
#include "tools/ddprun/rank_environment.h"
#include "transports/net/file_descriptor.h"

namespace lockstep::ddprun {

struct Job {
  NodePlace place;
  std::string program;                 // a path
  std::vector<std::string> arguments;  // with argv[0]
  std::vector<std::string> inherited;  // the environment that ddprun was started with
  absl::Duration grace_period;
};

// Returns the exit code for ddprun. `front`: the read end of a pipe that ends when the front process does. To be called by a
// process with one thread and no children.
int Supervise(const Job& job, const LaunchSignals& signals, FileDescriptor front);

}  // namespace lockstep::ddprun

#endif  // LOCKSTEP_TOOLS_DDPRUN_SUPERVISOR_H_
