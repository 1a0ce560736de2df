#include "transports/store/tcp_store.h"

#include <algorithm>
#include <utility>

#include "absl/status/status_macros.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/types/span.h"
#include "transports/store/frame.h"
#include "transports/store/key_table.h"
#include "transports/store/store.pb.h"

namespace lockstep {
namespace {

constexpr absl::Duration kAnswerTime = absl::Seconds(5);

absl::StatusOr<std::string> ReceiveFrame(int socket, absl::Time deadline) {
  char header[kFrameHeaderBytes];
  ABSL_RETURN_IF_ERROR(ReceiveAll(socket, absl::MakeSpan(header), deadline));
  ABSL_ASSIGN_OR_RETURN(const size_t length, DecodeFrameHeader(absl::string_view(header, sizeof(header))));
  std::string message(length, '\0');
  ABSL_RETURN_IF_ERROR(ReceiveAll(socket, absl::MakeSpan(&message[0], length), deadline));
  return message;
}

}  // namespace

absl::StatusOr<std::unique_ptr<TcpStore>> TcpStore::Connect(const Endpoint& server, absl::Duration timeout) {
  std::unique_ptr<TcpStore> store(new TcpStore(server, timeout));
  absl::StatusOr<FileDescriptor> connection = ConnectTo(server, absl::Now() + timeout);
  if (!connection.ok()) return AtStore(store->Describe(), connection.status());
  store->KeepConnection(*std::move(connection));
  return store;
}

std::string TcpStore::Describe() const { return absl::StrCat("tcp store at ", DescribeEndpoint(server_)); }

absl::Status TcpStore::Set(absl::string_view key, absl::string_view value) {
  ABSL_RETURN_IF_ERROR(AtStore(Describe(), CheckStoreEntry(key, value)));
  store::Request request;
  request.mutable_set()->set_key(key.data(), key.size());
  request.mutable_set()->set_value(value.data(), value.size());
  return Call(request, AnswerDeadline(value.size())).status();
}

absl::StatusOr<std::string> TcpStore::Get(absl::string_view key, absl::Duration timeout) {
  ABSL_RETURN_IF_ERROR(AtStore(Describe(), CheckStoreKey(key)));
  store::Request request;
  request.mutable_get()->set_key(key.data(), key.size());
  absl::StatusOr<store::Reply> reply = Call(request, absl::Now() + timeout);
  if (reply.ok()) return std::move(*reply->mutable_value());
  return absl::IsDeadlineExceeded(reply.status()) ? AtStore(Describe(), StoreKeyMissing(key, timeout)) : reply.status();
}

absl::StatusOr<int64_t> TcpStore::Add(absl::string_view key, int64_t delta) {
  ABSL_RETURN_IF_ERROR(AtStore(Describe(), CheckStoreKey(key)));
  store::Request request;
  request.mutable_add()->set_key(key.data(), key.size());
  request.mutable_add()->set_delta(delta);
  ABSL_ASSIGN_OR_RETURN(const store::Reply reply, Call(request, AnswerDeadline(0)));
  return reply.number();
}

absl::StatusOr<bool> TcpStore::Contains(absl::string_view key) {
  ABSL_RETURN_IF_ERROR(AtStore(Describe(), CheckStoreKey(key)));
  store::Request request;
  request.mutable_contains()->set_key(key.data(), key.size());
  ABSL_ASSIGN_OR_RETURN(const store::Reply reply, Call(request, AnswerDeadline(0)));
  return reply.there();
}

absl::StatusOr<bool> TcpStore::Delete(absl::string_view key) {
  ABSL_RETURN_IF_ERROR(AtStore(Describe(), CheckStoreKey(key)));
  store::Request request;
  request.mutable_remove()->set_key(key.data(), key.size());
  ABSL_ASSIGN_OR_RETURN(const store::Reply reply, Call(request, AnswerDeadline(0)));
  return reply.there();
}

absl::Time TcpStore::AnswerDeadline(size_t bytes) const {
  return absl::Now() + std::min(timeout_, kAnswerTime + absl::Seconds(static_cast<double>(bytes >> 20)));
}

absl::StatusOr<store::Reply> TcpStore::Call(const store::Request& request, absl::Time deadline) {
  const absl::StatusOr<std::string> bytes = Exchange(request.SerializeAsString(), deadline);
  if (!bytes.ok()) return AtStore(Describe(), bytes.status());
  store::Reply reply;
  if (!reply.ParseFromString(*bytes)) {
    return AtStore(Describe(), absl::DataLossError("the server's answer is no message of a Lockstep store"));
  }
  if (reply.code() == 0) return reply;
  return AtStore(Describe(), absl::Status(static_cast<absl::StatusCode>(reply.code()), reply.message()));
}

absl::StatusOr<std::string> TcpStore::Exchange(absl::string_view request, absl::Time deadline) {
  ABSL_ASSIGN_OR_RETURN(FileDescriptor connection, TakeConnection(deadline));
  absl::Status status = SendAll(connection.get(), EncodeFrame(request), deadline);
  if (status.ok()) {
    absl::StatusOr<std::string> reply = ReceiveFrame(connection.get(), deadline);
    if (reply.ok()) {
      KeepConnection(std::move(connection));
      return reply;
    }
    status = reply.status();
  }
  // The connection closes here: its answer, should it still come, would be taken for that of the next request.
  if (absl::IsDeadlineExceeded(status)) return absl::DeadlineExceededError("the server did not answer in time");
  return ServerIsGone(status);
}

absl::StatusOr<FileDescriptor> TcpStore::TakeConnection(absl::Time deadline) {
  {
    absl::MutexLock lock(&mu_);
    if (!gone_.ok()) return gone_;
    if (!idle_.empty()) {
      FileDescriptor connection = std::move(idle_.back());
      idle_.pop_back();
      return connection;
    }
  }
  // It listened before: if it does not now, it is gone.
  absl::StatusOr<FileDescriptor> connection = ConnectTo(server_, deadline, WhenRefused::kFail);
  if (connection.ok() || !absl::IsUnavailable(connection.status())) return connection;
  return ServerIsGone(connection.status());
}

void TcpStore::KeepConnection(FileDescriptor connection) {
  absl::MutexLock lock(&mu_);
  idle_.push_back(std::move(connection));
}

absl::Status TcpStore::ServerIsGone(const absl::Status& why) {
  absl::MutexLock lock(&mu_);
  if (gone_.ok()) {
    gone_ = absl::IsDataLoss(why)
                ? why
                : absl::UnavailableError(absl::StrCat("the server, which rank 0 runs, is gone: ", why.message()));
    idle_.clear();
  }
  return gone_;
}

}  // namespace lockstep
