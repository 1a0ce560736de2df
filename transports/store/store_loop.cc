#include "transports/store/store_loop.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <limits>
#include <utility>

#include "transports/store/frame.h"

namespace lockstep {
namespace {

// The two that are no connections.
constexpr uint64_t kListener = std::numeric_limits<uint64_t>::max();
constexpr uint64_t kStop = kListener - 1;

// Memory follows the bytes that have come, not the length that a header claims.
constexpr size_t kReadAtOnce = 64 << 10;

void Fail(const absl::Status& status, store::Reply& reply) {
  reply.set_code(static_cast<int>(status.code()));
  reply.set_message(std::string(status.message()));
}

}  // namespace

absl::Status StoreLoop::Open() {
  epoll_ = FileDescriptor(epoll_create1(EPOLL_CLOEXEC));
  epoll_event event = {};
  event.events = EPOLLIN;
  event.data.u64 = kStop;
  if (!epoll_.open() || epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, stop_, &event) != 0) {
    return absl::UnavailableError("the store's server cannot watch its sockets (limit: ulimit -n)");
  }
  SetListening(true);
  return absl::OkStatus();
}

void StoreLoop::Run() {
  std::array<epoll_event, 64> events;
  while (true) {
    // Without a listener, files may have come free elsewhere in this process.
    const int timeout_ms = listening_ ? -1 : 100;
    const int ready = epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), timeout_ms);
    if (ready == 0) SetListening(true);
    for (int i = 0; i < ready; ++i) {
      const uint64_t id = events[i].data.u64;
      if (id == kStop) return;
      if (id == kListener) {
        Accept();
      } else {
        Handle(id, events[i].events);
      }
    }
  }
}

void StoreLoop::SetListening(bool listening) {
  if (listening == listening_) return;
  epoll_event event = {};
  event.events = EPOLLIN;
  event.data.u64 = kListener;
  epoll_ctl(epoll_.get(), listening ? EPOLL_CTL_ADD : EPOLL_CTL_DEL, listener_.get(), &event);
  listening_ = listening;
}

void StoreLoop::Accept() {
  while (true) {
    FileDescriptor socket(accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!socket.open()) {
      if (errno == EINTR || errno == ECONNABORTED) continue;
      // Out of files: those who knock wait until another connection ends.
      if (errno == EMFILE || errno == ENFILE) SetListening(false);
      return;
    }
    const int yes = 1;
    setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
    const uint64_t id = next_id_++;
    auto connection = std::make_unique<Connection>();
    connection->socket = std::move(socket);
    connection->wanted = kFrameHeaderBytes;
    Connection& added = *connection;
    connections_[id] = std::move(connection);
    if (!Listen(id, added, State::kReading, EPOLL_CTL_ADD)) Drop(id);
  }
}

void StoreLoop::Handle(uint64_t id, uint32_t events) {
  const auto it = connections_.find(id);
  if (it == connections_.end()) return;  // dropped earlier in this round
  Connection& connection = *it->second;
  bool alive = true;
  switch (connection.state) {
    case State::kReading:
      alive = Read(id, connection);
      break;
    case State::kWaitingForKey:
      alive = false;  // woken by nothing but its peer's end
      break;
    case State::kWriting:
      alive = (events & (EPOLLERR | EPOLLHUP)) == 0 && Write(id, connection);
      break;
  }
  if (!alive) Drop(id);
}

bool StoreLoop::Read(uint64_t id, Connection& connection) {
  std::string& in = connection.in;
  while (in.size() < connection.wanted) {
    const size_t before = in.size();
    in.resize(before + std::min(connection.wanted - before, kReadAtOnce));
    const ssize_t received = recv(connection.socket.get(), &in[before], in.size() - before, 0);
    in.resize(before + static_cast<size_t>(std::max<ssize_t>(received, 0)));
    if (received < 0 && errno == EINTR) continue;
    if (received < 0 && errno == EAGAIN) return true;
    if (received <= 0) return false;
    if (in.size() == kFrameHeaderBytes) {
      const absl::StatusOr<size_t> length = DecodeFrameHeader(in);
      if (!length.ok()) return false;
      connection.wanted = kFrameHeaderBytes + *length;
    }
  }
  return HandleFrame(id, connection);
}

bool StoreLoop::HandleFrame(uint64_t id, Connection& connection) {
  store::Request request;
  const bool parsed = request.ParseFromArray(connection.in.data() + kFrameHeaderBytes,
                                             static_cast<int>(connection.in.size() - kFrameHeaderBytes));
  connection.in = std::string();  // gives a large value's memory back
  connection.wanted = kFrameHeaderBytes;
  if (!parsed || request.operation_case() == store::Request::OPERATION_NOT_SET) return false;
  store::Reply reply;
  if (Perform(request, reply)) return Answer(id, connection, reply);
  connection.key = request.get().key();
  waiters_[connection.key].push_back(id);
  return Listen(id, connection, State::kWaitingForKey, EPOLL_CTL_MOD);
}

bool StoreLoop::Perform(const store::Request& request, store::Reply& reply) {
  switch (request.operation_case()) {
    case store::Request::kSet: {
      const store::Request::Set& set = request.set();
      if (const absl::Status status = CheckStoreEntry(set.key(), set.value()); !status.ok()) {
        Fail(status, reply);
        return true;
      }
      table_.Set(set.key(), set.value());
      WakeWaiters(set.key());
      return true;
    }
    case store::Request::kAdd: {
      const absl::StatusOr<int64_t> sum = table_.Add(request.add().key(), request.add().delta());
      if (!sum.ok()) {
        Fail(sum.status(), reply);
        return true;
      }
      reply.set_number(*sum);
      WakeWaiters(request.add().key());
      return true;
    }
    case store::Request::kGet: {
      const std::string* const value = table_.Find(request.get().key());
      if (value == nullptr) return false;
      reply.set_value(*value);
      return true;
    }
    case store::Request::kContains:
      reply.set_there(table_.Find(request.contains().key()) != nullptr);
      return true;
    case store::Request::kRemove:
      reply.set_there(table_.Delete(request.remove().key()));
      return true;
    case store::Request::OPERATION_NOT_SET:
      break;
  }
  return true;
}

void StoreLoop::WakeWaiters(const std::string& key) {
  const auto it = waiters_.find(key);
  if (it == waiters_.end()) return;
  const std::vector<uint64_t> waiters = std::move(it->second);
  waiters_.erase(it);
  store::Reply reply;
  reply.set_value(*table_.Find(key));
  for (const uint64_t id : waiters) {
    Connection& connection = *connections_.at(id);  // Drop takes the dead off the list
    connection.key.clear();
    if (!Answer(id, connection, reply)) Drop(id);
  }
}

bool StoreLoop::Answer(uint64_t id, Connection& connection, const store::Reply& reply) {
  connection.out = EncodeFrame(reply.SerializeAsString());
  connection.written = 0;
  return Write(id, connection);
}

bool StoreLoop::Write(uint64_t id, Connection& connection) {
  while (connection.written < connection.out.size()) {
    const ssize_t sent = send(connection.socket.get(), connection.out.data() + connection.written,
                              connection.out.size() - connection.written, MSG_NOSIGNAL);
    if (sent >= 0) {
      connection.written += static_cast<size_t>(sent);
    } else if (errno == EAGAIN) {
      return Listen(id, connection, State::kWriting, EPOLL_CTL_MOD);
    } else if (errno != EINTR) {
      return false;
    }
  }
  connection.out = std::string();
  return Listen(id, connection, State::kReading, EPOLL_CTL_MOD);
}

bool StoreLoop::Listen(uint64_t id, Connection& connection, State state, int operation) {
  if (operation == EPOLL_CTL_MOD && connection.state == state) return true;
  connection.state = state;
  epoll_event event = {};
  event.data.u64 = id;
  event.events = state == State::kReading ? EPOLLIN : state == State::kWriting ? EPOLLOUT : EPOLLRDHUP;
  return epoll_ctl(epoll_.get(), operation, connection.socket.get(), &event) == 0;
}

void StoreLoop::Drop(uint64_t id) {
  const auto it = connections_.find(id);
  if (it == connections_.end()) return;
  if (const auto waiting = waiters_.find(it->second->key); waiting != waiters_.end()) {
    std::vector<uint64_t>& ids = waiting->second;
    ids.erase(std::remove(ids.begin(), ids.end(), id), ids.end());
    if (ids.empty()) waiters_.erase(waiting);
  }
  connections_.erase(it);  // closes the socket, which leaves epoll by that
  SetListening(true);
}

}  // namespace lockstep
