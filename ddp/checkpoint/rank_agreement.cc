#include "ddp/checkpoint/rank_agreement.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "absl/status/status_macros.h"

namespace lockstep {
namespace {

struct Outcome {
  int64_t code = 0;
  int64_t message_bytes = 0;
};

// An operation's deadline counts per chunk, so that large state does not miss it.
constexpr int64_t kChunk = 64 << 20;

absl::Status BroadcastBytes(Communicator& communicator, char* data, int64_t bytes, int root) {
  for (int64_t at = 0; at < bytes; at += kChunk) {
    const Buffer chunk{data + at, std::min(kChunk, bytes - at), DType::kU8, Device()};
    ABSL_RETURN_IF_ERROR(communicator.Broadcast(chunk, root, {.name = "checkpoint"}).Wait());
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ShareStatus(Communicator& communicator, const absl::Status& mine, absl::Duration timeout) {
  const Outcome outcome = {static_cast<int64_t>(mine.code()), static_cast<int64_t>(mine.message().size())};
  std::vector<Outcome> all(static_cast<size_t>(communicator.size()));
  const ConstBuffer in(&outcome, 2, DType::kI64);
  const Buffer out{all.data(), 2 * static_cast<int64_t>(all.size()), DType::kI64, Device()};
  ABSL_RETURN_IF_ERROR(communicator.AllGather(in, out, {.name = "checkpoint status", .timeout = timeout}).Wait());
  const auto failed = std::find_if(all.begin(), all.end(), [](const Outcome& o) { return o.code != 0; });
  if (failed == all.end()) return absl::OkStatus();
  const int root = static_cast<int>(failed - all.begin());
  std::string message(root == communicator.rank() ? mine.message() : "");
  message.resize(static_cast<size_t>(failed->message_bytes));
  ABSL_RETURN_IF_ERROR(BroadcastBytes(communicator, &message[0], failed->message_bytes, root));
  return absl::Status(static_cast<absl::StatusCode>(failed->code), message);
}

absl::Status ShareBytes(Communicator& communicator, char* data, int64_t bytes) {
  return BroadcastBytes(communicator, data, bytes, 0);
}

}  // namespace lockstep
