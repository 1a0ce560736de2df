// How operations are called in errors and traces.
#ifndef LOCKSTEP_TRANSPORTS_HOST_OPERATION_TEXT_H_
#define LOCKSTEP_TRANSPORTS_HOST_OPERATION_TEXT_H_

#include <string>

#include "transports/host/operation.h"

namespace lockstep {

// `all_reduce "bucket 3" (op 1841, sum f32[262144])`; without a name or a sequence number, less of it. A buffer that a rank's
// part in the operation leaves out is left out, and counts that differ are listed: `gather (op 7, to rank 0, f32[2, 0, 5])`.
std::string DescribeOperation(const Operation& operation, int rank, int size);

}  // namespace lockstep

#endif  // LOCKSTEP_TRANSPORTS_HOST_OPERATION_TEXT_H_
