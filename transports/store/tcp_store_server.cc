#include "transports/store/tcp_store_server.h"

#include <pthread.h>
#include <sys/eventfd.h>

#include <cstdint>
#include <utility>

#include "absl/status/status_macros.h"
#include "transports/net/blocked_signals.h"
#include "transports/store/store_loop.h"

namespace lockstep {

absl::StatusOr<std::unique_ptr<TcpStoreServer>> TcpStoreServer::Start(const Endpoint& endpoint) {
  ABSL_ASSIGN_OR_RETURN(FileDescriptor listener, ListenOn(endpoint));
  ABSL_ASSIGN_OR_RETURN(const int port, LocalPort(listener.get()));
  FileDescriptor stop(eventfd(0, EFD_CLOEXEC));
  if (!stop.open()) return absl::UnavailableError("the store's server cannot open an eventfd (limit: ulimit -n)");
  auto loop = std::make_unique<StoreLoop>(std::move(listener), stop.get());
  ABSL_RETURN_IF_ERROR(loop->Open());
  std::unique_ptr<TcpStoreServer> server(new TcpStoreServer(std::move(stop), port));
  const BlockedSignals blocked;
  server->thread_ = std::thread([loop = std::move(loop)] {
    pthread_setname_np(pthread_self(), "ls-store");
    loop->Run();
  });
  return server;
}

TcpStoreServer::~TcpStoreServer() {
  const uint64_t one = 1;
  if (thread_.joinable()) {
    [[maybe_unused]] const ssize_t written = write(stop_.get(), &one, sizeof(one));  // an eventfd at 0 takes a 1
    thread_.join();
  }
}

}  // namespace lockstep
