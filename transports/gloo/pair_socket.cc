#include "transports/gloo/pair_socket.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <mutex>

#include "absl/functional/function_ref.h"
#include "gloo/transport/tcp/pair.h"

namespace lockstep {
namespace {

// Reaches the protected members that every pair of our context has, since all are made by a tcp::Device.
class Access : public gloo::transport::tcp::Pair {
 public:
  // Calls `f` with the socket, which Gloo neither closes nor replaces meanwhile; not at all if it has closed it.
  static void WithSocket(gloo::transport::Pair& pair, absl::FunctionRef<void(int)> f) {
    auto& tcp = static_cast<gloo::transport::tcp::Pair&>(pair);
    const std::lock_guard<std::mutex> lock(tcp.*&Access::m_);
    const int socket = tcp.*&Access::fd_;
    if (socket >= 0) f(socket);
  }
};

void SetOption(int socket, int level, int option, int value) {
  setsockopt(socket, level, option, &value, sizeof(value));  // what the kernel does not know, it does without
}

}  // namespace

PairState LookAt(gloo::transport::Pair& pair) {
  PairState state;
  state.has_ended = true;
  Access::WithSocket(pair, [&](int socket) {
    pollfd hangup = {socket, POLLRDHUP, 0};
    state.has_ended = poll(&hangup, 1, 0) > 0;
    tcp_info info = {};
    socklen_t size = sizeof(info);
    if (getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return;
    state.bytes_moved = static_cast<int64_t>(info.tcpi_bytes_acked + info.tcpi_bytes_received);
    if (info.tcpi_unacked > 0) state.silent_for = absl::Milliseconds(info.tcpi_last_ack_recv);
  });
  return state;
}

void AskForSignsOfLife(gloo::transport::Pair& pair, absl::Duration patience) {
  const auto seconds = static_cast<int>(std::clamp<int64_t>(absl::ToInt64Seconds(patience), 2, 3600));
  Access::WithSocket(pair, [&](int socket) {
    SetOption(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
    SetOption(socket, IPPROTO_TCP, TCP_KEEPIDLE, 1);
    SetOption(socket, IPPROTO_TCP, TCP_KEEPINTVL, 1);
    SetOption(socket, IPPROTO_TCP, TCP_KEEPCNT, seconds - 1);
  });
}

void ShutDown(gloo::transport::Pair& pair) {
  Access::WithSocket(pair, [](int socket) { shutdown(socket, SHUT_RDWR); });
}

}  // namespace lockstep
