#include "tests/hot_path/allocation_counter.h"

#include <dlfcn.h>
#include <pthread.h>

#include <atomic>
#include <cerrno>
#include <cstddef>

extern "C" {
void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* old, size_t size);
void* __libc_memalign(size_t alignment, size_t size);
}

namespace lockstep {
namespace {

std::atomic<int64_t> process_allocations{0};
std::atomic<int64_t> process_locks{0};
// Initial-exec, so that touching them allocates nothing itself.
__attribute__((tls_model("initial-exec"))) thread_local int64_t thread_allocations = 0;
__attribute__((tls_model("initial-exec"))) thread_local int64_t thread_locks = 0;

void CountAllocation() {
  process_allocations.fetch_add(1, std::memory_order_relaxed);
  ++thread_allocations;
}

using MutexLock = int (*)(pthread_mutex_t*);
MutexLock RealMutexLock() {
  static std::atomic<MutexLock> real{nullptr};
  if (real.load() == nullptr) real.store(reinterpret_cast<MutexLock>(dlsym(RTLD_NEXT, "pthread_mutex_lock")));
  return real.load();
}

}  // namespace

HeapCounts CountsOfProcess() { return {process_allocations.load(), process_locks.load()}; }
HeapCounts CountsOfThread() { return {thread_allocations, thread_locks}; }

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
  lockstep::process_locks.fetch_add(1, std::memory_order_relaxed);
  ++lockstep::thread_locks;
  return lockstep::RealMutexLock()(mutex);
}

}  // extern "C"
