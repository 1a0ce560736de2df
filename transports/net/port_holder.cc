#include "transports/net/port_holder.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <utility>

namespace lockstep {

absl::StatusOr<PortHolder> PortHolder::BindFreePort() {
  FileDescriptor holder(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!holder.open()) return absl::ErrnoToStatus(errno, "cannot make a socket to find a free port with");
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_ANY);  // on every address: the port is ours whichever one rank 0 listens on
  socklen_t length = sizeof(address);
  if (bind(holder.get(), reinterpret_cast<sockaddr*>(&address), length) != 0 ||
      getsockname(holder.get(), reinterpret_cast<sockaddr*>(&address), &length) != 0) {
    return absl::ErrnoToStatus(errno, "cannot bind a free port");
  }
  // Only now: a bind with SO_REUSEADDR may be given a port that another such socket holds.
  const int yes = 1;
  if (setsockopt(holder.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) != 0) {
    return absl::ErrnoToStatus(errno, "cannot share the port with rank 0");
  }
  return PortHolder(std::move(holder), ntohs(address.sin_port));
}

}  // namespace lockstep
