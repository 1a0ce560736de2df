// Apart from call_counter.cc, whose own malloc and memcpy must not meet the headers that declare the library's.
#include <pthread.h>

#include <cstddef>
#include <cstring>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "tests/hot_path/call_counter.h"

namespace lockstep {
namespace {

constexpr size_t kCopy = 1024;  // the least that is counted

}  // namespace

bool CallsAreCounted() {
  const CallCounts start = CountsOfThread();
  std::vector<char> from(2 * kCopy, 1), to(from.size());
  void* (*volatile copy)(void*, const void*, size_t) = std::memcpy;  // not the compiler's own
  copy(to.data(), from.data(), from.size());
  copy = std::memmove;
  copy(to.data() + 1, to.data(), kCopy);
  absl::Mutex mutex;
  mutex.Lock();
  mutex.Unlock();
  const CallCounts middle = CountsOfThread();
  pthread_mutex_t pthread = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_lock(&pthread);
  pthread_mutex_unlock(&pthread);
  const CallCounts end = CountsOfThread();
  return to == from && middle.allocations - start.allocations >= 2 && middle.locks > start.locks &&
         end.locks == middle.locks + 1 && middle.copied_bytes - start.copied_bytes >= static_cast<int64_t>(3 * kCopy);
}

}  // namespace lockstep
