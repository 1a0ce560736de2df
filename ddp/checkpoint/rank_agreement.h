// How ranks come to return the same status, although only one of them touches the disk. For the checkpoint manager alone.
#ifndef LOCKSTEP_DDP_CHECKPOINT_RANK_AGREEMENT_H_
#define LOCKSTEP_DDP_CHECKPOINT_RANK_AGREEMENT_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "transports/transport.h"

namespace lockstep {

// Collective: OK where every rank brings OK; else, on all ranks, the error of the lowest rank that brings one. Waits up to
// `timeout` for the others (zero: the communicator's own).
absl::Status ShareStatus(Communicator& communicator, const absl::Status& mine, absl::Duration timeout = {});

// Collective: `bytes` bytes at `data` become rank 0's.
absl::Status ShareBytes(Communicator& communicator, char* data, int64_t bytes);

}  // namespace lockstep

#endif  // LOCKSTEP_DDP_CHECKPOINT_RANK_AGREEMENT_H_
