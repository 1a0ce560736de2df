// Whether two ranks that both wait can both be right.
#ifndef LOCKSTEP_TRANSPORTS_HOST_STANDING_H_
#define LOCKSTEP_TRANSPORTS_HOST_STANDING_H_

#include <cstdint>

#include "absl/status/status.h"
#include "transports/host/operation.h"

namespace lockstep {

// The operation that a rank is in.
struct Standing {
  int rank = 0;
  Operation operation;
  int64_t collective = 0;  // how many collectives the rank has run before it
};

// Whether a send and a receive, each for the other's rank or any, are two ends of one message.
bool MessagesMeet(const Operation& send, const Operation& recv);

// FAILED_PRECONDITION, showing both operations, if these two ranks of `size`, standing there at the same time, can never both go
// on: they call different things at the same place, or each waits for something that the other does later. Else OK.
absl::Status CheckStandings(const Standing& a, const Standing& b, int size);

}  // namespace lockstep

#endif  // LOCKSTEP_TRANSPORTS_HOST_STANDING_H_
