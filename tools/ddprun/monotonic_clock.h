// Time that no clock adjustment moves: for deadlines, and for how long a rank lived.
#ifndef LOCKSTEP_TOOLS_DDPRUN_MONOTONIC_CLOCK_H_
#define LOCKSTEP_TOOLS_DDPRUN_MONOTONIC_CLOCK_H_

#include <time.h>

#include "absl/time/time.h"

namespace lockstep::ddprun {

// Since an arbitrary moment before the process began.
inline absl::Duration MonotonicNow() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return absl::DurationFromTimespec(now);
}

}  // namespace lockstep::ddprun

#endif  // LOCKSTEP_TOOLS_DDPRUN_MONOTONIC_CLOCK_H_
