// What an operation does to the ranks' memory, where one thread reaches all of it.
#ifndef LOCKSTEP_TRANSPORTS_HOST_SHARED_EXECUTE_H_
#define LOCKSTEP_TRANSPORTS_HOST_SHARED_EXECUTE_H_

#include "absl/functional/function_ref.h"
#include "transports/host/operation.h"

namespace lockstep {

// Does a collective for all ranks at once. `of(rank)` is that rank's operation; all fit together.
void ExecuteShared(int size, absl::FunctionRef<const Operation&(int rank)> of);

// Copies the elements of one buffer into another of as many; nothing if they are the same memory.
void CopyElements(const ConstBuffer& from, const Buffer& to);

}  // namespace lockstep

#endif  // LOCKSTEP_TRANSPORTS_HOST_SHARED_EXECUTE_H_
