// Finds out, once an operation has failed, which rank is to blame: a closed connection or a time limit alone does not tell,
// since ranks that fail close their connections too, and take others with them.
//
// Each rank that gives up writes why into the store before it looks at what the others wrote. Who wrote nothing within
// kGrace has not noticed, because it is dead, stopped, or busy elsewhere.
#ifndef LOCKSTEP_TRANSPORTS_GLOO_INQUEST_H_
#define LOCKSTEP_TRANSPORTS_GLOO_INQUEST_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "transports/gloo/gloo_mesh.h"
#include "transports/host/operation.h"
#include "transports/store/store.h"

namespace lockstep {

// For the store's round trips of ranks that fail at the same moment, at which a survivor learns of a death.
inline constexpr absl::Duration kInquestGrace = absl::Milliseconds(200);

// Writes why this rank gives up; the error is the store's. `operation`: what it was in, or null; `collective` as in GlooExecutor.
absl::Status RecordEnd(Store& store, const GlooMesh& mesh, const absl::Status& why, const Operation* operation,
                       int64_t collective);

// The status of `operation`, which failed with `raw`, Gloo's error, after `recorded`, what RecordEnd gave:
//   FAILED_PRECONDITION  a peer was in another operation; both are shown
//   DEADLINE_EXCEEDED    at its deadline; names the ranks that have not come
//   UNAVAILABLE          a peer is gone, or gave up for reasons of its own; named
absl::Status HoldInquest(Store& store, GlooMesh& mesh, const absl::Status& raw, const absl::Status& recorded,
                         const Operation& operation, int64_t collective, absl::Duration timeout);

}  // namespace lockstep

#endif  // LOCKSTEP_TRANSPORTS_GLOO_INQUEST_H_
