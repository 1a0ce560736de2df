// What both ends of a transfer must agree on, before a byte of it moves: Gloo matches sends with receives by a number of 64
// bits, and sends nothing before a receive of that number is there. So ranks that call different things never meet: they wait,
// and no memory is overrun.
#ifndef LOCKSTEP_TRANSPORTS_GLOO_SLOT_H_
#define LOCKSTEP_TRANSPORTS_GLOO_SLOT_H_

#include <cstdint>

#include "transports/host/operation.h"

namespace lockstep {

// Transfers of one operation between the same two ranks that must not be taken for each other. Of those with one phase and
// count, the first sent is the first received.
enum class Phase : uint8_t { kFirst, kSecond };

// A hash of what all ranks of a collective agree on (kind, op, root, dtype, name, counts known to all) and of how many
// collectives there were before it on this communicator; of a message, of its tag and dtype.
uint64_t FingerprintOf(const Operation& operation, int64_t collective, int size);

// The slot of a transfer of `count` elements.
uint64_t SlotOf(uint64_t fingerprint, Phase phase, int64_t count);

}  // namespace lockstep

#endif  // LOCKSTEP_TRANSPORTS_GLOO_SLOT_H_
