// The TCP store's event loop: connections, frames, and who waits for which key. For TcpStoreServer alone.
#ifndef LOCKSTEP_TRANSPORTS_STORE_STORE_LOOP_H_
#define LOCKSTEP_TRANSPORTS_STORE_STORE_LOOP_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "transports/net/file_descriptor.h"
#include "transports/store/key_table.h"
#include "transports/store/store.pb.h"

namespace lockstep {

// One thread.
class StoreLoop {
 public:
  // Serves whoever connects to `listener` until `stop` is readable, which stays the caller's.
  StoreLoop(FileDescriptor listener, int stop) : listener_(std::move(listener)), stop_(stop) {}

  // UNAVAILABLE if the process may open no more files.
  absl::Status Open();
  void Run();

 private:
  // What a connection does next, and so which events it listens to.
  enum class State { kReading, kWaitingForKey, kWriting };

  struct Connection {
    FileDescriptor socket;
    State state = State::kReading;
    std::string in;      // the frame being read, never more than it
    size_t wanted = 0;   // bytes of `in` to come to next: a header, then a whole frame
    std::string out;     // the reply being written
    size_t written = 0;  // bytes of it
    std::string key;     // that it waits for
  };

  void Accept();
  void Handle(uint64_t id, uint32_t events);
  // Each returns false when the connection is over.
  bool Read(uint64_t id, Connection& connection);
  bool HandleFrame(uint64_t id, Connection& connection);
  bool Write(uint64_t id, Connection& connection);
  bool Answer(uint64_t id, Connection& connection, const store::Reply& reply);
  bool Listen(uint64_t id, Connection& connection, State state, int operation);
  void Drop(uint64_t id);
  void SetListening(bool listening);

  // Performs `request`; false: its key is not there, so the answer has to wait.
  bool Perform(const store::Request& request, store::Reply& reply);
  void WakeWaiters(const std::string& key);

  FileDescriptor listener_;
  const int stop_;
  FileDescriptor epoll_;
  bool listening_ = false;  // false while the process may open no more files
  uint64_t next_id_ = 0;
  absl::flat_hash_map<uint64_t, std::unique_ptr<Connection>> connections_;
  absl::flat_hash_map<std::string, std::vector<uint64_t>> waiters_;
  KeyTable table_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_TRANSPORTS_STORE_STORE_LOOP_H_
