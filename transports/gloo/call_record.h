// Operations as ranks tell each other of them: without their memory.
#ifndef LOCKSTEP_TRANSPORTS_GLOO_CALL_RECORD_H_
#define LOCKSTEP_TRANSPORTS_GLOO_CALL_RECORD_H_

#include <cstdint>

#include "transports/gloo/wire.pb.h"
#include "transports/host/operation.h"

namespace lockstep {

gloo_wire::Call RecordCall(const Operation& operation, int64_t collective, int size);

// What is described by a peer, which is believed no more than its text: numbers out of range become what they may be.
Operation OperationOf(const gloo_wire::Call& call, int size);

}  // namespace lockstep

#endif  // LOCKSTEP_TRANSPORTS_GLOO_CALL_RECORD_H_
