// Counts what a program takes from the heap, and every pthread lock it takes, over all its threads.
//
// Linking this target replaces malloc, calloc, realloc, memalign, aligned_alloc, posix_memalign and pthread_mutex_lock for
// the whole program, its shared libraries included; operator new comes by malloc. Glibc only.
#ifndef LOCKSTEP_TESTS_HOT_PATH_ALLOCATION_COUNTER_H_
#define LOCKSTEP_TESTS_HOT_PATH_ALLOCATION_COUNTER_H_

#include <cstdint>

namespace lockstep {

struct HeapCounts {
  int64_t allocations = 0;
  int64_t locks = 0;
};

// Of all threads since the program started.
HeapCounts CountsOfProcess();
// Of the calling thread.
HeapCounts CountsOfThread();

}  // namespace lockstep

#endif  // LOCKSTEP_TESTS_HOT_PATH_ALLOCATION_COUNTER_H_
