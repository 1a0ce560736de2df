// The server of a TcpStore: keeps the keys of one job, on rank 0. See tcp_store.h.
#ifndef LOCKSTEP_TRANSPORTS_STORE_TCP_STORE_SERVER_H_
#define LOCKSTEP_TRANSPORTS_STORE_TCP_STORE_SERVER_H_

#include <memory>
#include <thread>

#include "absl/status/statusor.h"
#include "transports/net/file_descriptor.h"
#include "transports/net/socket.h"

namespace lockstep {

// Serves all connections from one thread ("ls-store"), which the destructor ends at once: clients then get UNAVAILABLE. Holds
// at most one request and one reply a connection; a peer that sends anything else than requests loses its connection, and no
// other peer notices.
class TcpStoreServer {
 public:
  // Listens; see ListenOn for which addresses, and for the errors. Port 0: a free one.
  static absl::StatusOr<std::unique_ptr<TcpStoreServer>> Start(const Endpoint& endpoint);
  ~TcpStoreServer();
  TcpStoreServer(const TcpStoreServer&) = delete;
  TcpStoreServer& operator=(const TcpStoreServer&) = delete;

  int port() const { return port_; }

 private:
  TcpStoreServer(FileDescriptor stop, int port) : stop_(std::move(stop)), port_(port) {}

  const FileDescriptor stop_;  // an eventfd; readable: the thread shall end
  const int port_;
  std::thread thread_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_TRANSPORTS_STORE_TCP_STORE_SERVER_H_
