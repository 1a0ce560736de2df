#include "ddp/init.h"

#include <cstdlib>
#include <utility>

#include "absl/status/status_macros.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "ddp/job_store.h"
#include "ddp/rank_log.h"
#include "ddp/rendezvous.h"
#include "ddp/solo_communicator.h"
#include "transports/net/socket.h"
#include "transports/registry.h"
#include "transports/store/prefix_store.h"

namespace lockstep {
namespace {

// Reserved for documentation (RFC 5737): no host, but a route, so that this host tells the address it would send from.
const Endpoint kElsewhere = {"192.0.2.1", 9};

absl::optional<std::string> ProcessEnvironment(absl::string_view name) {
  const char* const value = std::getenv(std::string(name).c_str());
  if (value == nullptr) return absl::nullopt;
  return std::string(value);
}

bool IsLoopback(absl::string_view address) { return absl::StartsWith(address, "127.") || address == "::1"; }

// The address at which peers reach this host. On rank 0, the route to its own name may be the loopback device, which other
// hosts cannot use.
absl::StatusOr<std::string> OwnAddress(const ProcessGroupOptions& options, const Rendezvous& rendezvous) {
  if (!options.host_address.empty()) return options.host_address;
  ABSL_ASSIGN_OR_RETURN(std::string address, LocalAddressTowards(rendezvous.store));
  const bool several_hosts = rendezvous.info.local_world_size < rendezvous.info.world_size;
  if (!several_hosts || !IsLoopback(address) || IsLoopback(rendezvous.store.host) || rendezvous.store.host == "localhost") {
    return address;
  }
  const absl::StatusOr<std::string> outward = LocalAddressTowards(kElsewhere);
  return outward.ok() ? *outward : address;
}

absl::StatusOr<std::shared_ptr<ProcessGroup>> Join(const ProcessGroupOptions& options, Transport& transport,
                                                   const Rendezvous& rendezvous) {
  const absl::Time deadline = absl::Now() + options.timeout;
  // First, so that a wrong address is told before anybody waits for this rank.
  ABSL_ASSIGN_OR_RETURN(const std::string address, OwnAddress(options, rendezvous));
  ABSL_RETURN_IF_ERROR(OwnAddressOf(address).status());
  ABSL_ASSIGN_OR_RETURN(std::shared_ptr<Store> store, MeetInStore(rendezvous.store, rendezvous.info, deadline));
  auto group_store = std::make_shared<PrefixStore>(std::move(store), "group");
  ConnectOptions connect;
  connect.rank = rendezvous.info.rank;
  connect.size = rendezvous.info.world_size;
  connect.timeout = options.timeout;
  connect.host = address;
  ABSL_ASSIGN_OR_RETURN(std::unique_ptr<Communicator> communicator, transport.Connect(*group_store, connect));
  return std::make_shared<ProcessGroup>(rendezvous.info, std::string(transport.name()), std::move(communicator),
                                        std::move(group_store), options.timeout);
}

}  // namespace

absl::StatusOr<std::shared_ptr<ProcessGroup>> InitProcessGroup(const ProcessGroupOptions& options) {
  return InitProcessGroup(options, ProcessEnvironment);
}

absl::StatusOr<std::shared_ptr<ProcessGroup>> InitProcessGroup(const ProcessGroupOptions& options,
                                                               const Environment& environment) {
  ABSL_ASSIGN_OR_RETURN(Rendezvous rendezvous, FindRendezvous(options, environment));
  rendezvous.info.host = HostName();
  std::shared_ptr<ProcessGroup> group;
  if (rendezvous.info.world_size == 1) {
    group = std::make_shared<ProcessGroup>(rendezvous.info, "none", std::make_unique<SoloCommunicator>(), nullptr);
  } else {
    std::unique_ptr<Transport> owned;
    if (options.transport == nullptr) {
      ABSL_ASSIGN_OR_RETURN(owned, CreateTransport(options.backend));
    }
    Transport& transport = options.transport != nullptr ? *options.transport : *owned;
    absl::StatusOr<std::shared_ptr<ProcessGroup>> joined = Join(options, transport, rendezvous);
    if (!joined.ok()) {
      return absl::Status(joined.status().code(),
                          absl::StrCat("InitProcessGroup on rank ", rendezvous.info.rank, " of ", rendezvous.info.world_size,
                                       " (host ", rendezvous.info.host, "): ", joined.status().message()));
    }
    group = *std::move(joined);
  }
  PrefixLogLines(group->info());
  return group;
}

}  // namespace lockstep
