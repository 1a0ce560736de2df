// Runs a program and sees every system call of all its threads, as strace does (ptrace).
//
// The program marks regions itself with MarkForTracer, a system call that does nothing and that the tracer knows.
#ifndef LOCKSTEP_TESTS_HOT_PATH_SYSCALL_TRACER_H_
#define LOCKSTEP_TESTS_HOT_PATH_SYSCALL_TRACER_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace lockstep {

// kSteadyBegin and kSteadyEnd hold for the whole program, kHookBegin and kHookEnd for the thread that marks.
enum class TraceMark : int { kSteadyBegin = 1, kSteadyEnd, kHookBegin, kHookEnd };

// For the traced program.
void MarkForTracer(TraceMark mark);

struct TraceResult {
  int exit_code = -1;
  int64_t hooks = 0;                         // regions marked as hooks, in the steady part
  std::map<std::string, int64_t> in_hooks;   // system calls by name, inside hooks
  std::map<std::string, int64_t> in_steady;  // the same of all threads in the steady part, hooks included
  std::string output;                        // what the program wrote to stdout
};

// UNAVAILABLE if this machine does not let a process trace its child.
absl::StatusOr<TraceResult> TraceSyscalls(const std::vector<std::string>& command);

}  // namespace lockstep

#endif  // LOCKSTEP_TESTS_HOT_PATH_SYSCALL_TRACER_H_
