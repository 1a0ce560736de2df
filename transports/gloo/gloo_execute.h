// Runs one operation with Gloo's own algorithms.
#ifndef LOCKSTEP_TRANSPORTS_GLOO_GLOO_EXECUTE_H_
#define LOCKSTEP_TRANSPORTS_GLOO_GLOO_EXECUTE_H_

#include <chrono>
#include <cstdint>
#include <memory>

#include "transports/gloo/gloo_mesh.h"
#include "transports/host/operation.h"

namespace lockstep {

// Blocks until the operation has ended on this rank. `collective` counts the collectives before it on this communicator.
// Each of Gloo's waits ends after `timeout`. Throws what Gloo throws: call it under CallGloo.
//
// Ranks that call different things never exchange a byte: each message carries a hash of the operation's signature (and of
// `collective`) as its tag, and Gloo sends nothing before a receiver of that tag is there. So they wait until the deadline
// and no memory is overrun.
void ExecuteWithGloo(const std::shared_ptr<GlooMesh>& mesh, const Operation& operation, int64_t collective,
                     std::chrono::milliseconds timeout);

}  // namespace lockstep

#endif  // LOCKSTEP_TRANSPORTS_GLOO_GLOO_EXECUTE_H_
