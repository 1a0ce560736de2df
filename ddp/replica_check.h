// Whether all ranks still hold the same model. They do, bit for bit, as long as every rank takes every step from the same
// state with the same optimizer; this finds out when they do not.
#ifndef LOCKSTEP_DDP_REPLICA_CHECK_H_
#define LOCKSTEP_DDP_REPLICA_CHECK_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "ddp/model.h"
#include "ddp/process_group.h"

namespace lockstep {

// A 64-bit digest of the bytes of each parameter's value, in the model's order; equal on machines of one byte order. CPU
// memory.
std::vector<uint64_t> DigestParameters(Model& model);

// Collective: OK if every parameter has the same bytes on every rank; else DATA_LOSS, the same text on every rank, naming
// the first parameter that differs and the lowest rank on which it differs from rank 0's. Costs one all-gather of 8 bytes a
// parameter and one pass over the parameters.
absl::Status CheckReplicas(ProcessGroup& group, Model& model);

}  // namespace lockstep

#endif  // LOCKSTEP_DDP_REPLICA_CHECK_H_
