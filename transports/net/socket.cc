#include "transports/net/socket.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <memory>

#include "absl/status/status_macros.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

namespace lockstep {
namespace {

// Between attempts to connect to a port where nobody listens yet: short at first, since ranks start together.
constexpr absl::Duration kFirstPause = absl::Milliseconds(2);
constexpr absl::Duration kLongestPause = absl::Milliseconds(200);

using AddressList = std::unique_ptr<addrinfo, void (*)(addrinfo*)>;

absl::StatusOr<AddressList> Resolve(const Endpoint& endpoint, int type) {
  addrinfo hints = {};
  hints.ai_socktype = type;
  hints.ai_flags = AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(endpoint.host.c_str(), absl::StrCat(endpoint.port).c_str(), &hints, &found);
  if (error == 0) return AddressList(found, freeaddrinfo);
  const char* const reason = error == EAI_SYSTEM ? std::strerror(errno) : gai_strerror(error);
  return absl::UnavailableError(absl::StrCat("the host \"", endpoint.host, "\" does not resolve: ", reason));
}

FileDescriptor OpenSocket(const addrinfo& address) {
  return FileDescriptor(socket(address.ai_family, address.ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, address.ai_protocol));
}

absl::Status Errno(absl::string_view what, int error) {
  return absl::UnavailableError(absl::StrCat(what, ": ", std::strerror(error)));
}

// Waits until `socket` can do `events`, or has failed, which the next call on it tells.
absl::Status WaitUntilReady(int socket, short events, absl::Time deadline) {
  while (true) {
    const absl::Duration left = deadline - absl::Now();
    if (left <= absl::ZeroDuration()) return absl::DeadlineExceededError("timed out");
    // Rounded up: a poll that ends early would only spin.
    const int64_t ms = left > absl::Hours(1) ? 3'600'000 : absl::ToInt64Milliseconds(left) + 1;
    pollfd poller = {socket, events, 0};
    const int ready = poll(&poller, 1, static_cast<int>(ms));
    if (ready > 0) return absl::OkStatus();
    if (ready < 0 && errno != EINTR) return Errno("poll", errno);
  }
}

absl::Status ConnectSocket(int socket, const addrinfo& address, absl::Time deadline) {
  if (connect(socket, address.ai_addr, address.ai_addrlen) == 0) return absl::OkStatus();
  if (errno != EINPROGRESS) return Errno("connect", errno);
  ABSL_RETURN_IF_ERROR(WaitUntilReady(socket, POLLOUT, deadline));
  int error = 0;
  socklen_t size = sizeof(error);
  if (getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size) != 0) error = errno;
  return error == 0 ? absl::OkStatus() : Errno("connect", error);
}

// A connect to a port of this host where nobody listens may meet itself: the kernel picked that very port for our end.
bool IsConnectedToItself(int socket) {
  sockaddr_storage own = {}, peer = {};
  socklen_t own_size = sizeof(own), peer_size = sizeof(peer);
  return getsockname(socket, reinterpret_cast<sockaddr*>(&own), &own_size) == 0 &&
         getpeername(socket, reinterpret_cast<sockaddr*>(&peer), &peer_size) == 0 && own_size == peer_size &&
         std::memcmp(&own, &peer, own_size) == 0;
}

absl::StatusOr<FileDescriptor> ConnectToAny(const addrinfo* addresses, absl::Time deadline) {
  absl::Status status = absl::UnavailableError("the host has no address");
  for (const addrinfo* address = addresses; address != nullptr; address = address->ai_next) {
    FileDescriptor socket = OpenSocket(*address);
    if (!socket.open() && (errno == EMFILE || errno == ENFILE)) {
      return absl::ResourceExhaustedError("cannot open a socket (limit: ulimit -n)");
    }
    status = socket.open() ? ConnectSocket(socket.get(), *address, deadline) : Errno("socket", errno);
    if (status.ok() && address->ai_socktype == SOCK_STREAM && IsConnectedToItself(socket.get()))
      status = Errno("connect", ECONNREFUSED);
    if (!status.ok()) continue;
    const int yes = 1;
    setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
    return socket;
  }
  return status;
}

absl::StatusOr<std::string> AsNumbers(const sockaddr* address, socklen_t size) {
  char text[NI_MAXHOST];
  const int error = getnameinfo(address, size, text, sizeof(text), nullptr, 0, NI_NUMERICHOST);
  if (error != 0) return absl::UnavailableError(absl::StrCat("getnameinfo: ", gai_strerror(error)));
  return std::string(text);
}

bool IsLoopbackName(absl::string_view host) {
  return host == "localhost" || host == "::1" || (absl::StartsWith(host, "127.") && host != "127.0.1.1");
}

// `address` with its host part replaced by "any".
void ListenEverywhere(addrinfo& address) {
  if (address.ai_family == AF_INET) reinterpret_cast<sockaddr_in*>(address.ai_addr)->sin_addr.s_addr = htonl(INADDR_ANY);
  if (address.ai_family == AF_INET6) reinterpret_cast<sockaddr_in6*>(address.ai_addr)->sin6_addr = in6addr_any;
}

}  // namespace

std::string DescribeEndpoint(const Endpoint& endpoint) {
  return absl::StrContains(endpoint.host, ':') ? absl::StrCat("[", endpoint.host, "]:", endpoint.port)
                                               : absl::StrCat(endpoint.host, ":", endpoint.port);
}

std::string HostName() {
  char name[256] = {};
  gethostname(name, sizeof(name) - 1);
  return name;
}

absl::StatusOr<FileDescriptor> ListenOn(const Endpoint& endpoint) {
  const std::string what = absl::StrCat("cannot listen on ", DescribeEndpoint(endpoint));
  ABSL_ASSIGN_OR_RETURN(const AddressList addresses, Resolve(endpoint, SOCK_STREAM));
  if (!IsLoopbackName(endpoint.host)) ListenEverywhere(*addresses);
  FileDescriptor socket = OpenSocket(*addresses);
  if (!socket.open()) return Errno(what, errno);
  const int yes = 1, no = 0;
  setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
  if (addresses->ai_family == AF_INET6) setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof(no));
  if (bind(socket.get(), addresses->ai_addr, addresses->ai_addrlen) != 0 || listen(socket.get(), SOMAXCONN) != 0) {
    const int error = errno;
    return Errno(error == EADDRINUSE ? absl::StrCat(what, " (another job's rank 0? choose another port)") : what, error);
  }
  return socket;
}

absl::StatusOr<int> LocalPort(int socket) {
  sockaddr_storage address = {};
  socklen_t size = sizeof(address);
  if (getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) != 0) return Errno("getsockname", errno);
  return ntohs(address.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6*>(&address)->sin6_port
                                             : reinterpret_cast<sockaddr_in*>(&address)->sin_port);
}

absl::StatusOr<FileDescriptor> ConnectTo(const Endpoint& endpoint, absl::Time deadline, WhenRefused when_refused) {
  ABSL_ASSIGN_OR_RETURN(const AddressList addresses, Resolve(endpoint, SOCK_STREAM));
  const absl::Time start = absl::Now();
  absl::Status reason;  // of the last attempt that the deadline did not cut short, if there is one
  for (absl::Duration pause = kFirstPause;; pause = std::min(2 * pause, kLongestPause)) {
    absl::StatusOr<FileDescriptor> socket = ConnectToAny(addresses.get(), deadline);
    if (socket.ok() || absl::IsResourceExhausted(socket.status())) return socket;
    if (reason.ok() || absl::Now() < deadline) reason = socket.status();
    if (when_refused == WhenRefused::kFail && absl::Now() < deadline) return socket;
    if (absl::Now() + pause >= deadline) {
      return absl::DeadlineExceededError(absl::StrCat("nobody accepted a connection at ", DescribeEndpoint(endpoint),
                                                      " within ", absl::FormatDuration(absl::Now() - start), " (",
                                                      reason.message(), ")"));
    }
    absl::SleepFor(pause);  // no event tells that a peer has begun to listen
  }
}

absl::StatusOr<std::string> LocalAddressTowards(const Endpoint& endpoint) {
  ABSL_ASSIGN_OR_RETURN(const AddressList addresses, Resolve(endpoint, SOCK_DGRAM));
  // Connecting a datagram socket sends nothing: it only asks the routing table.
  ABSL_ASSIGN_OR_RETURN(const FileDescriptor socket, ConnectToAny(addresses.get(), absl::InfiniteFuture()));
  sockaddr_storage own = {};
  socklen_t size = sizeof(own);
  if (getsockname(socket.get(), reinterpret_cast<sockaddr*>(&own), &size) != 0) return Errno("getsockname", errno);
  return AsNumbers(reinterpret_cast<sockaddr*>(&own), size);
}

absl::StatusOr<std::string> OwnAddressOf(const std::string& host) {
  ABSL_ASSIGN_OR_RETURN(const AddressList addresses, Resolve({host, 0}, SOCK_STREAM));
  int error = 0;
  for (const addrinfo* address = addresses.get(); address != nullptr; address = address->ai_next) {
    const FileDescriptor socket = OpenSocket(*address);
    if (socket.open() && bind(socket.get(), address->ai_addr, address->ai_addrlen) == 0) {
      return AsNumbers(address->ai_addr, address->ai_addrlen);
    }
    error = errno;
  }
  return Errno(absl::StrCat("\"", host, "\" is no address of this machine"), error);
}

absl::Status SendAll(int socket, absl::string_view bytes, absl::Time deadline) {
  while (!bytes.empty()) {
    const ssize_t sent = send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent >= 0) {
      bytes.remove_prefix(static_cast<size_t>(sent));
    } else if (errno == EAGAIN) {
      ABSL_RETURN_IF_ERROR(WaitUntilReady(socket, POLLOUT, deadline));
    } else if (errno != EINTR) {
      return Errno("the connection has ended", errno);
    }
  }
  return absl::OkStatus();
}

absl::Status ReceiveAll(int socket, absl::Span<char> bytes, absl::Time deadline) {
  while (!bytes.empty()) {
    const ssize_t received = recv(socket, bytes.data(), bytes.size(), 0);
    if (received > 0) {
      bytes.remove_prefix(static_cast<size_t>(received));
    } else if (received == 0) {
      return absl::UnavailableError("the connection was closed at the other end");
    } else if (errno == EAGAIN) {
      ABSL_RETURN_IF_ERROR(WaitUntilReady(socket, POLLIN, deadline));
    } else if (errno != EINTR) {
      return Errno("the connection has ended", errno);
    }
  }
  return absl::OkStatus();
}

}  // namespace lockstep
