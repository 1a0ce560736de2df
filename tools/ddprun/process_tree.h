// Finds and ends the processes that stem from this one, also those that left their parents and their process groups.
//
// Both of ddprun's processes are subreapers: a process whose parent ends becomes a child of the nearest of the two that is
// alive, instead of init's. So everything that a rank ever started is in the tree below, and "no children left" means that
// nothing is left.
#ifndef LOCKSTEP_TOOLS_DDPRUN_PROCESS_TREE_H_
#define LOCKSTEP_TOOLS_DDPRUN_PROCESS_TREE_H_

#include <sys/types.h>

#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace lockstep::ddprun {

struct ProcessInfo {
  pid_t pid = 0;
  pid_t parent = 0;
  pid_t group = 0;
};

// From now on orphans below this process become its children. Fails only on kernels before Linux 3.4.
absl::Status BecomeSubreaper();

// All processes below this one, zombies too, at one look at /proc. Empty when /proc is not there, or shows another PID
// namespace, whose numbers would be other processes here.
std::vector<ProcessInfo> Descendants();

// Kills all descendants until no child is left, and reaps them. False: some were still there after `limit` (a process in
// uninterruptible sleep, as on a dead network file system).
bool EndDescendants(absl::Duration limit);

// Whether this process has a child, ended or not.
bool HasChildren();

}  // namespace lockstep::ddprun

#endif  // LOCKSTEP_TOOLS_DDPRUN_PROCESS_TREE_H_
