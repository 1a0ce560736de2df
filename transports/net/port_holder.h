// A free TCP port that stays ours from the moment it is chosen until the job ends.
//
// A port that is found, released and handed to rank 0 can be taken by somebody else in between. So the socket that found it
// stays bound, but never listens, and allows its address to be shared (SO_REUSEADDR, set after an exclusive bind). Linux then
// lets a socket that sets SO_REUSEADDR itself and names this very port bind and listen on it, as rank 0's store does, while
// nobody who asks for "any free port" gets it.
#ifndef LOCKSTEP_TRANSPORTS_NET_PORT_HOLDER_H_
#define LOCKSTEP_TRANSPORTS_NET_PORT_HOLDER_H_

#include <utility>

#include "absl/status/statusor.h"
#include "transports/net/file_descriptor.h"

namespace lockstep {

class PortHolder {
 public:
  // Fails only when the host has no free port or no IPv4.
  static absl::StatusOr<PortHolder> BindFreePort();

  int port() const { return port_; }

 private:
  PortHolder(FileDescriptor socket, int port) : socket_(std::move(socket)), port_(port) {}

  FileDescriptor socket_;
  int port_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_TRANSPORTS_NET_PORT_HOLDER_H_
