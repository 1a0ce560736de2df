#include "tools/ddprun/launch_signals.h"

#include <string.h>

#include "absl/strings/str_cat.h"

namespace lockstep::ddprun {
namespace {

bool IsIgnored(int signal_number) {
  struct sigaction action {};
  sigaction(signal_number, nullptr, &action);
  return action.sa_handler == SIG_IGN;
}

void SetDisposition(int signal_number, void (*handler)(int), struct sigaction* old) {
  struct sigaction action {};
  action.sa_handler = handler;
  sigaction(signal_number, &action, old);
}

}  // namespace

LaunchSignals::LaunchSignals() {
  sigemptyset(&watched_);
  for (int forwarded : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) {
    if (!IsIgnored(forwarded)) sigaddset(&watched_, forwarded);
  }
  sigaddset(&watched_, SIGCHLD);
  sigprocmask(SIG_BLOCK, &watched_, &original_mask_);
  SetDisposition(SIGPIPE, SIG_IGN, &original_pipe_);   // a closed output is an error of write, not the launcher's end
  SetDisposition(SIGCHLD, SIG_DFL, &original_child_);  // if it was ignored, exit codes would be lost
}

void LaunchSignals::Restore() const {
  sigaction(SIGPIPE, &original_pipe_, nullptr);
  sigaction(SIGCHLD, &original_child_, nullptr);
  sigprocmask(SIG_SETMASK, &original_mask_, nullptr);
}

std::string SignalName(int signal_number) {
  const char* abbreviation = sigabbrev_np(signal_number);
  return abbreviation == nullptr ? absl::StrCat("signal ", signal_number) : absl::StrCat("SIG", abbreviation);
}

}  // namespace lockstep::ddprun
