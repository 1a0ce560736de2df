#include "transports/gloo/gloo_transport.h"

#include <string>
#include <utility>

#include "absl/status/status_macros.h"
#include "absl/strings/str_cat.h"
#include "transports/gloo/gloo_communicator.h"
#include "transports/gloo/gloo_mesh.h"
#include "transports/net/socket.h"
#include "transports/registry.h"

namespace lockstep {
absl::StatusOr<std::unique_ptr<Communicator>> GlooTransport::Connect(Store& store, const ConnectOptions& options) {
  if (options.size < 1 || options.rank < 0 || options.rank >= options.size) {
    return absl::InvalidArgumentError(absl::StrCat("gloo: rank ", options.rank, " of ", options.size,
                                                   "; expected a size of at least 1 and a rank from 0 to size - 1"));
  }
  ABSL_ASSIGN_OR_RETURN(GlooDevice device, MakeGlooDevice(options.host.empty() ? HostName() : options.host));
  const std::shared_ptr<Store> borrowed(std::shared_ptr<Store>(), &store);  // the caller keeps it alive
  return GlooCommunicator::Connect(borrowed, std::move(device), options.rank, options.size, options.timeout);
}

LOCKSTEP_REGISTER_TRANSPORT("gloo", GlooTransport);

}  // namespace lockstep
