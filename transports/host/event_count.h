// Lets threads sleep until a condition over atomics holds, while those who change it pay one atomic add, and a system call
// only if somebody sleeps.
//
//   events.Wait([&] { return started.load(std::memory_order_acquire) > n; }, deadline);    // a waiter
//   started.store(n + 1, std::memory_order_release); events.Notify();                      // who makes it true
//
// The algorithm is that of Dmitry Vyukov's eventcount (as in folly and Eigen), on one futex word. A waiter first counts
// itself, then reads the epoch, then the condition; a notifier changes the condition, then the epoch, then reads the count.
// So one of the two sees the other: the notifier the waiter, or the waiter the new epoch, with which the futex does not sleep.
#ifndef LOCKSTEP_TRANSPORTS_HOST_EVENT_COUNT_H_
#define LOCKSTEP_TRANSPORTS_HOST_EVENT_COUNT_H_

#include <atomic>
#include <cstdint>

#include "absl/functional/function_ref.h"
#include "absl/time/time.h"

namespace lockstep {

// Thread-safe. Allocates nothing.
class EventCount {
 public:
  // After a change of what waiters look at.
  void Notify();

  // Returns true once `condition` holds, false if it does not at `deadline`. The condition runs on this thread only.
  bool Wait(absl::FunctionRef<bool()> condition, absl::Time deadline);

 private:
  // Both seq_cst: see the algorithm above, whose proof needs one order over the two.
  std::atomic<uint32_t> epoch_{0};
  std::atomic<int32_t> waiters_{0};
};

}  // namespace lockstep

#endif  // LOCKSTEP_TRANSPORTS_HOST_EVENT_COUNT_H_
