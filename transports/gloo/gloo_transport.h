// Ranks that are processes, on one host or many, through Gloo over TCP: the transport of machines without GPUs.
//
//   GlooTransport transport;
//   auto comm = transport.Connect(store, {.rank = 0, .size = 2, .host = "10.0.0.1"});
//
// Gloo's own algorithms move the bytes (a ring for all-reduce), our kernels reduce them. Each communicator has a thread
// ("ls-gloo") that runs its operations in order, besides Gloo's own, so a rank's thread only starts them. When a peer dies,
// the survivors' operations end with UNAVAILABLE within a second or so; one that stops answering costs the operation's
// deadline. Chosen by name, "gloo".
#ifndef LOCKSTEP_TRANSPORTS_GLOO_GLOO_TRANSPORT_H_
#define LOCKSTEP_TRANSPORTS_GLOO_GLOO_TRANSPORT_H_

#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "transports/store/store.h"
#include "transports/transport.h"

namespace lockstep {

class GlooTransport final : public Transport {
 public:
  absl::string_view name() const override { return "gloo"; }

  // INVALID_ARGUMENT: rank or size; ALREADY_EXISTS: the rank has come before; FAILED_PRECONDITION: ranks give different
  // sizes; UNAVAILABLE: `host` (empty: the address this host's name resolves to) is none of this machine's, or a peer cannot
  // be reached; DEADLINE_EXCEEDED: names the ranks that did not come.
  absl::StatusOr<std::unique_ptr<Communicator>> Connect(Store& store, const ConnectOptions& options) override;
};

}  // namespace lockstep

#endif  // LOCKSTEP_TRANSPORTS_GLOO_GLOO_TRANSPORT_H_
