// Collectives of Protobuf messages: those of string_collectives.h, serialised and parsed.
//
//   ABSL_ASSIGN_OR_RETURN(const Plan plan, BroadcastProto(*comm, my_plan, /*root=*/0));
//
// Errors are those of string_collectives.h, and DATA_LOSS, naming the rank, if what came is no such message.
#ifndef LOCKSTEP_TRANSPORTS_PROTO_COLLECTIVES_H_
#define LOCKSTEP_TRANSPORTS_PROTO_COLLECTIVES_H_

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "transports/string_collectives.h"
#include "transports/transport.h"

namespace lockstep {
namespace proto_collectives_internal {

template <typename Message>
absl::StatusOr<Message> Parse(const std::string& bytes, int rank) {
  Message message;
  if (message.ParseFromString(bytes)) return message;
  return absl::DataLossError(
      absl::StrCat("what rank ", rank, " sent is no ", message.GetTypeName(), "; do all ranks run the same version?"));
}

template <typename Message>
absl::StatusOr<std::vector<Message>> ParseAll(const absl::StatusOr<std::vector<std::string>>& all) {
  if (!all.ok()) return all.status();
  std::vector<Message> messages;
  for (size_t rank = 0; rank < all->size(); ++rank) {
    absl::StatusOr<Message> message = Parse<Message>((*all)[rank], static_cast<int>(rank));
    if (!message.ok()) return message.status();
    messages.push_back(*std::move(message));
  }
  return messages;
}

}  // namespace proto_collectives_internal

// Rank `root`'s message, on every rank; elsewhere `message` is not looked at.
template <typename Message>
absl::StatusOr<Message> BroadcastProto(Communicator& communicator, const Message& message, int root,
                                       const CallOptions& options = {}) {
  const std::string mine = communicator.rank() == root ? message.SerializeAsString() : std::string();
  const absl::StatusOr<std::string> bytes = BroadcastString(communicator, mine, root, options);
  if (!bytes.ok()) return bytes.status();
  return proto_collectives_internal::Parse<Message>(*bytes, root);
}

// All ranks' messages, by rank.
template <typename Message>
absl::StatusOr<std::vector<Message>> AllGatherProtos(Communicator& communicator, const Message& message,
                                                     const CallOptions& options = {}) {
  return proto_collectives_internal::ParseAll<Message>(AllGatherStrings(communicator, message.SerializeAsString(), options));
}

// The same on rank `root`; empty elsewhere.
template <typename Message>
absl::StatusOr<std::vector<Message>> GatherProtos(Communicator& communicator, const Message& message, int root,
                                                  const CallOptions& options = {}) {
  return proto_collectives_internal::ParseAll<Message>(
      GatherStrings(communicator, message.SerializeAsString(), root, options));
}

}  // namespace lockstep

#endif  // LOCKSTEP_TRANSPORTS_PROTO_COLLECTIVES_H_
