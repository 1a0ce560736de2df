// TCP connections with deadlines: what the store's client and server are made of.
//
//   ABSL_ASSIGN_OR_RETURN(FileDescriptor socket, ConnectTo({"10.0.0.1", 29500}, absl::Now() + absl::Seconds(30)));
//   ABSL_RETURN_IF_ERROR(SendAll(socket.get(), "hello", deadline));
//
// Every socket here is non-blocking and closes on exec. No call raises SIGPIPE. Names are resolved by the system's resolver,
// which has time limits of its own. Thread-safe, as long as one thread at a time uses a socket.
#ifndef LOCKSTEP_TRANSPORTS_NET_SOCKET_H_
#define LOCKSTEP_TRANSPORTS_NET_SOCKET_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "transports/net/file_descriptor.h"

namespace lockstep {

// Where something listens: a name or numeric address, and a port.
struct Endpoint {
  std::string host;
  int port = 0;
};
std::string DescribeEndpoint(const Endpoint& endpoint);  // "10.0.0.1:29500", "[::1]:29500"

// This host's name, for messages: "worker-3".
std::string HostName();

// Listens on `endpoint.port` (0: a free one), which a launcher may hold bound with SO_REUSEADDR. On the loopback address if
// the host is one ("localhost", "127.0.0.1", "::1"), else on all addresses of this host: its own name may resolve to a
// loopback address here (127.0.1.1 in Debian's /etc/hosts) and to another one on its peers.
// UNAVAILABLE: the port is taken, or the host does not resolve.
absl::StatusOr<FileDescriptor> ListenOn(const Endpoint& endpoint);

// The port a socket is bound to.
absl::StatusOr<int> LocalPort(int socket);

// Connects; if it is refused, tries again until the deadline (nobody may listen there yet) or fails. UNAVAILABLE: the host does
// not resolve, or a refusal; RESOURCE_EXHAUSTED: no more files; DEADLINE_EXCEEDED: with the last refusal.
enum class WhenRefused { kTryAgain, kFail };
absl::StatusOr<FileDescriptor> ConnectTo(const Endpoint& endpoint, absl::Time deadline,
                                         WhenRefused when_refused = WhenRefused::kTryAgain);

// The address that this host has on the route to `endpoint`, where nobody need listen: "10.0.0.7".
absl::StatusOr<std::string> LocalAddressTowards(const Endpoint& endpoint);

// The first address that `host` resolves to and that is one of this machine's, as numbers. UNAVAILABLE if there is none.
absl::StatusOr<std::string> OwnAddressOf(const std::string& host);

// Sends or receives all bytes. DEADLINE_EXCEEDED, or UNAVAILABLE if the connection has ended; the socket is then useless.
absl::Status SendAll(int socket, absl::string_view bytes, absl::Time deadline);
absl::Status ReceiveAll(int socket, absl::Span<char> bytes, absl::Time deadline);

}  // namespace lockstep

#endif  // LOCKSTEP_TRANSPORTS_NET_SOCKET_H_
