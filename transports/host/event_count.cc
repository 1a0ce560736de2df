#include "transports/host/event_count.h"

#include "absl/time/clock.h"
#include "transports/host/linux_futex.h"

namespace lockstep {

void EventCount::Notify() {
  epoch_.fetch_add(1);
  if (waiters_.load() > 0) FutexWakeAll(epoch_);
}

bool EventCount::Wait(absl::FunctionRef<bool()> condition, absl::Time deadline) {
  if (condition()) return true;
  waiters_.fetch_add(1);
  bool holds = false;
  while (true) {
    const uint32_t epoch = epoch_.load();
    holds = condition();
    if (holds) break;
    const absl::Duration left = deadline - absl::Now();
    if (left <= absl::ZeroDuration()) break;
    FutexWait(epoch_, epoch, left);
  }
  waiters_.fetch_sub(1);
  return holds;
}

}  // namespace lockstep
