// What a collective does to the ranks' memory, once all have come.
#ifndef LOCKSTEP_TRANSPORTS_IN_PROCESS_EXECUTE_H_
#define LOCKSTEP_TRANSPORTS_IN_PROCESS_EXECUTE_H_

#include "absl/functional/function_ref.h"
#include "transports/host/operation.h"

namespace lockstep {

// `of(rank)` is the operation of that rank; all have the same signature. Reduces in rank order: ((r0 op r1) op r2) ...
void ExecuteCollective(int size, absl::FunctionRef<const Operation&(int rank)> of);

}  // namespace lockstep

#endif  // LOCKSTEP_TRANSPORTS_IN_PROCESS_EXECUTE_H_
