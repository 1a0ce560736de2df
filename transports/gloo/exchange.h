// Collectives that move elements without changing them: every rank sends each peer what is its, straight from where it lies to
// where it belongs, all at once.
#ifndef LOCKSTEP_TRANSPORTS_GLOO_EXCHANGE_H_
#define LOCKSTEP_TRANSPORTS_GLOO_EXCHANGE_H_

#include <cstdint>

#include "absl/time/time.h"
#include "transports/gloo/gloo_mesh.h"
#include "transports/host/operation.h"

namespace lockstep {

// Does a broadcast, all_gather, gather, scatter or all_to_all. Throws what Gloo throws.
void ExchangeElements(GlooMesh& mesh, const Operation& operation, uint64_t fingerprint);

// Every rank waits for a message of no bytes from every other.
void MeetAll(GlooMesh& mesh, uint64_t fingerprint, absl::Time deadline);

}  // namespace lockstep

#endif  // LOCKSTEP_TRANSPORTS_GLOO_EXCHANGE_H_
