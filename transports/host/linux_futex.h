// The kernel's wait-on-address, of which the C++17 library has none.
#ifndef LOCKSTEP_TRANSPORTS_HOST_LINUX_FUTEX_H_
#define LOCKSTEP_TRANSPORTS_HOST_LINUX_FUTEX_H_

#include <atomic>
#include <cstdint>

#include "absl/time/time.h"

namespace lockstep {

// Sleeps while `word` holds `expected`, for at most `timeout`; may return early for no reason.
void FutexWait(const std::atomic<uint32_t>& word, uint32_t expected, absl::Duration timeout);

// Wakes all who sleep on `word`, in this process.
void FutexWakeAll(const std::atomic<uint32_t>& word);

}  // namespace lockstep

#endif  // LOCKSTEP_TRANSPORTS_HOST_LINUX_FUTEX_H_
