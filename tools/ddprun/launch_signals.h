// Which signals ddprun takes over, and what the ranks get back.
//
// ddprun's two processes block the signals and read them at their own time. The ranks start with the mask and the dispositions
// that ddprun was started with, as if there were no launcher: under nohup, or as a background job of a script, a signal that
// was ignored is ignored by all and forwarded to none.
#ifndef LOCKSTEP_TOOLS_DDPRUN_LAUNCH_SIGNALS_H_
#define LOCKSTEP_TOOLS_DDPRUN_LAUNCH_SIGNALS_H_

#include <signal.h>

#include <string>

namespace lockstep::ddprun {

class LaunchSignals {
 public:
  // Takes over, in the whole process; made once, before the first fork.
  LaunchSignals();

  // SIGINT, SIGTERM, SIGHUP, SIGQUIT as far as they were not ignored, and SIGCHLD. All are blocked.
  const sigset_t& watched() const { return watched_; }

  // Undoes everything. In a child, before exec: only calls that are allowed there.
  void Restore() const;

 private:
  sigset_t watched_;
  sigset_t original_mask_;
  struct sigaction original_pipe_;
  struct sigaction original_child_;
};

// "SIGSEGV"; "signal 40" for one without a name.
std::string SignalName(int signal_number);

}  // namespace lockstep::ddprun

#endif  // LOCKSTEP_TOOLS_DDPRUN_LAUNCH_SIGNALS_H_
