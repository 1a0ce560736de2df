// The store of ranks that are processes, on one host or many: rank 0 runs the server, every rank connects to it.
//
//   ABSL_ASSIGN_OR_RETURN(auto server, TcpStoreServer::Start({"10.0.0.1", 29500}));             // on rank 0
//   ABSL_ASSIGN_OR_RETURN(auto store, TcpStore::Connect({"10.0.0.1", 29500}, absl::Minutes(10)));   // on every rank
//
// The protocol is in store.proto. No authentication: it trusts the network, as the transports do.
#ifndef LOCKSTEP_TRANSPORTS_STORE_TCP_STORE_H_
#define LOCKSTEP_TRANSPORTS_STORE_TCP_STORE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "transports/net/file_descriptor.h"
#include "transports/net/socket.h"
#include "transports/store/store.h"

namespace lockstep {

namespace store {
class Reply;
class Request;
}  // namespace store

// Thread-safe. Each call that is under way has a connection of its own, kept for the next one, so a Get that waits delays
// nobody. Calls that should not wait end with DEADLINE_EXCEEDED when the server does not answer within 5 seconds, and one more
// for each MiB sent (or within `timeout`, if that is less).
class TcpStore : public Store {
 public:
  // Waits up to `timeout` for a server that has not begun to listen. UNAVAILABLE at once if the host does not resolve.
  static absl::StatusOr<std::unique_ptr<TcpStore>> Connect(const Endpoint& server, absl::Duration timeout);

  absl::Status Set(absl::string_view key, absl::string_view value) override;
  absl::StatusOr<std::string> Get(absl::string_view key, absl::Duration timeout) override;
  absl::StatusOr<int64_t> Add(absl::string_view key, int64_t delta) override;
  absl::StatusOr<bool> Contains(absl::string_view key) override;
  absl::StatusOr<bool> Delete(absl::string_view key) override;
  std::string Describe() const override;

 private:
  TcpStore(Endpoint server, absl::Duration timeout) : server_(std::move(server)), timeout_(timeout) {}

  // Until when a call that does not wait for a key, and sends `bytes`, should be answered.
  absl::Time AnswerDeadline(size_t bytes) const;
  // The server's reply, or the error that it carries, with this store's name before it.
  absl::StatusOr<store::Reply> Call(const store::Request& request, absl::Time deadline);
  // Sends one encoded Request and returns the encoded Reply.
  absl::StatusOr<std::string> Exchange(absl::string_view request, absl::Time deadline);
  absl::StatusOr<FileDescriptor> TakeConnection(absl::Time deadline);
  void KeepConnection(FileDescriptor connection);
  // Remembers that the server is gone, and says so.
  absl::Status ServerIsGone(const absl::Status& why);

  const Endpoint server_;
  const absl::Duration timeout_;
  absl::Mutex mu_;
  std::vector<FileDescriptor> idle_ ABSL_GUARDED_BY(mu_);
  absl::Status gone_ ABSL_GUARDED_BY(mu_);  // OK while the server answers
};

}  // namespace lockstep

#endif  // LOCKSTEP_TRANSPORTS_STORE_TCP_STORE_H_
