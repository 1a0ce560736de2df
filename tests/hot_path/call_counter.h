// Counts what a program takes from the heap, the locks it takes and the bytes it copies, over all its threads.
//
// Linking this target replaces malloc, calloc, realloc, memalign, aligned_alloc, posix_memalign, pthread_mutex_lock, memcpy and
// memmove for the whole program, its shared libraries included (operator new comes by malloc), and absl::Mutex::Lock where
// this program's own objects and archives call it. Glibc on x86-64 only.
#ifndef LOCKSTEP_TESTS_HOT_PATH_CALL_COUNTER_H_
#define LOCKSTEP_TESTS_HOT_PATH_CALL_COUNTER_H_

#include <cstdint>

namespace lockstep {

struct CallCounts {
  int64_t allocations = 0;
  int64_t locks = 0;         // pthread's and Abseil's
  int64_t copied_bytes = 0;  // by copies of 1 KiB and more: a gradient, not a record of one
};

// Of all threads since the program started.
CallCounts CountsOfProcess();
// Of the calling thread.
CallCounts CountsOfThread();

// Whether every kind of call that is to be counted is: another Abseil, whose names differ, would pass unseen.
bool CallsAreCounted();

}  // namespace lockstep

#endif  // LOCKSTEP_TESTS_HOT_PATH_CALL_COUNTER_H_
