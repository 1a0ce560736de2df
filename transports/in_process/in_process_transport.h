// Ranks as threads of one process: for unit tests and debugging.
//
//   InProcessTransport transport;
//   // on each rank's thread:
//   auto comm = transport.Connect(store, {.rank = rank, .size = 4});
//
// The last rank to arrive in an operation does it for all, in rank order, so results are the same from run to run. No
// threads of its own, no sockets; a step allocates nothing. Ranks that call different things are told so at once, on every
// rank, which makes it the transport to debug with. Meeting in a store of another process is an error. Never chosen unless
// asked for by name, "in_process".
#ifndef LOCKSTEP_TRANSPORTS_IN_PROCESS_IN_PROCESS_TRANSPORT_H_
#define LOCKSTEP_TRANSPORTS_IN_PROCESS_IN_PROCESS_TRANSPORT_H_

#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "transports/store/store.h"
#include "transports/transport.h"

namespace lockstep {

class InProcessTransport final : public Transport {
 public:
  absl::string_view name() const override { return "in_process"; }

  // INVALID_ARGUMENT: rank or size; ALREADY_EXISTS: the rank is taken; FAILED_PRECONDITION: rank 0 is in another process, or
  // ranks give different sizes; DEADLINE_EXCEEDED: names the ranks that did not come.
  absl::StatusOr<std::unique_ptr<Communicator>> Connect(Store& store, const ConnectOptions& options) override;
};

}  // namespace lockstep

#endif  // LOCKSTEP_TRANSPORTS_IN_PROCESS_IN_PROCESS_TRANSPORT_H_
