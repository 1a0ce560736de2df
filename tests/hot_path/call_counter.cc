#include "tests/hot_path/call_counter.h"

#include <dlfcn.h>
#include <pthread.h>

#include <atomic>
#include <cerrno>
#include <cstddef>

extern "C" {
// The linker sends calls of absl::Mutex::Lock to the second, which calls the first (--wrap in BUILD.bazel). Weak: another
// Abseil has another namespace, and then CallsAreCounted says so.
__attribute__((weak)) void RealAbslLock(void* mutex) __asm__("__real__ZN4absl7debian35Mutex4LockEv");
void CountedAbslLock(void* mutex) __asm__("__wrap__ZN4absl7debian35Mutex4LockEv");
void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* old, size_t size);
void* __libc_memalign(size_t alignment, size_t size);
}

namespace lockstep {
namespace {

std::atomic<int64_t> process_allocations{0};
std::atomic<int64_t> process_locks{0};
std::atomic<int64_t> process_copied_bytes{0};
constexpr size_t kSmallCopy = 1024;  // below: not counted
// Initial-exec, so that touching them allocates nothing itself.
__attribute__((tls_model("initial-exec"))) thread_local int64_t thread_allocations = 0;
__attribute__((tls_model("initial-exec"))) thread_local int64_t thread_locks = 0;
__attribute__((tls_model("initial-exec"))) thread_local int64_t thread_copied_bytes = 0;

void CountAllocation() {
  process_allocations.fetch_add(1, std::memory_order_relaxed);
  ++thread_allocations;
}

void CountLock() {
  process_locks.fetch_add(1, std::memory_order_relaxed);
  ++thread_locks;
}

void CountCopy(size_t bytes) {
  if (bytes < kSmallCopy) return;
  process_copied_bytes.fetch_add(static_cast<int64_t>(bytes), std::memory_order_relaxed);
  thread_copied_bytes += static_cast<int64_t>(bytes);
}

// In assembly, since the compiler would make calls of memcpy of the loops below.
void CopyForward(void* to, const void* from, size_t bytes) {
  __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(bytes) : : "memory");
}
void CopyBackward(char* to, const char* from, size_t bytes) {
  to += bytes - 1;
  from += bytes - 1;
  __asm__ volatile("std\n\trep movsb\n\tcld" : "+D"(to), "+S"(from), "+c"(bytes) : : "memory");
}

using MutexLock = int (*)(pthread_mutex_t*);
MutexLock RealMutexLock() {
  static std::atomic<MutexLock> real{nullptr};
  if (real.load() == nullptr) real.store(reinterpret_cast<MutexLock>(dlsym(RTLD_NEXT, "pthread_mutex_lock")));
  return real.load();
}

}  // namespace

CallCounts CountsOfProcess() { return {process_allocations.load(), process_locks.load(), process_copied_bytes.load()}; }
CallCounts CountsOfThread() { return {thread_allocations, thread_locks, thread_copied_bytes}; }

}  // namespace lockstep

extern "C" {

void* malloc(size_t size) {
  lockstep::CountAllocation();
  return __libc_malloc(size);
}
void* calloc(size_t count, size_t size) {
  lockstep::CountAllocation();
  return __libc_calloc(count, size);
}
void* realloc(void* old, size_t size) {
  lockstep::CountAllocation();
  return __libc_realloc(old, size);
}
void* memalign(size_t alignment, size_t size) {
  lockstep::CountAllocation();
  return __libc_memalign(alignment, size);
}
void* aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }
int posix_memalign(void** out, size_t alignment, size_t size) {
  *out = memalign(alignment, size);
  return *out == nullptr ? ENOMEM : 0;
}

int pthread_mutex_lock(pthread_mutex_t* mutex) {
  lockstep::CountLock();
  return lockstep::RealMutexLock()(mutex);
}
void CountedAbslLock(void* mutex) {
  lockstep::CountLock();
  RealAbslLock(mutex);
}

void* memcpy(void* to, const void* from, size_t bytes) {  // NOLINT(readability-identifier-naming): libc's name
  lockstep::CountCopy(bytes);
  lockstep::CopyForward(to, from, bytes);
  return to;
}
void* memmove(void* to, const void* from, size_t bytes) {  // NOLINT(readability-identifier-naming): libc's name
  lockstep::CountCopy(bytes);
  char* const target = static_cast<char*>(to);
  const char* const source = static_cast<const char*>(from);
  if (target > source && target < source + bytes) {
    lockstep::CopyBackward(target, source, bytes);
  } else {
    lockstep::CopyForward(to, from, bytes);
  }
  return to;
}

}  // extern "C"
