// Whether an operation's arguments are right by themselves, and whether two ranks' operations fit together.
#ifndef LOCKSTEP_TRANSPORTS_HOST_OPERATION_CHECK_H_
#define LOCKSTEP_TRANSPORTS_HOST_OPERATION_CHECK_H_

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "transports/host/operation.h"

namespace lockstep {

// OK, or INVALID_ARGUMENT: there must be a count for each of `size` ranks, none below 0.
absl::Status CheckCounts(absl::string_view argument, absl::Span<const int64_t> counts, int size);

// OK, or INVALID_ARGUMENT saying what is wrong with the arguments on rank `rank` of `size`. The counts were right.
absl::Status CheckOperation(const Operation& operation, int rank, int size);

// Whether collectives of two ranks belong together: kind, op, root, dtype, name, and the counts that both know.
bool FitTogether(const Operation& a, int rank_a, const Operation& b, int rank_b);

}  // namespace lockstep

#endif  // LOCKSTEP_TRANSPORTS_HOST_OPERATION_CHECK_H_
