// The TCP connection beneath one of Gloo's pairs: what Gloo does not tell of it, and does not do with it.
#ifndef LOCKSTEP_TRANSPORTS_GLOO_PAIR_SOCKET_H_
#define LOCKSTEP_TRANSPORTS_GLOO_PAIR_SOCKET_H_

#include <cstdint>

#include "absl/time/time.h"
#include "gloo/transport/pair.h"

namespace lockstep {

struct PairState {
  bool has_ended = false;     // by either side, or for want of a sign of life
  int64_t bytes_moved = 0;    // sent and acknowledged, and received, since it was connected
  absl::Duration silent_for;  // while bytes wait for an acknowledgement: since the last one
};

// Any thread; never waits long. `pair` is connected, or was.
PairState LookAt(gloo::transport::Pair& pair);

// Has the kernel ask the peer's kernel for a sign of life while nothing moves, each second after the first, and end the
// connection after `patience` without one. A stopped process' kernel answers.
void AskForSignsOfLife(gloo::transport::Pair& pair, absl::Duration patience);

// Ends the connection, which both sides notice at once. Any thread, more than once.
void ShutDown(gloo::transport::Pair& pair);

}  // namespace lockstep

#endif  // LOCKSTEP_TRANSPORTS_GLOO_PAIR_SOCKET_H_
