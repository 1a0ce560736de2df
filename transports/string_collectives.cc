#include "transports/string_collectives.h"

#include <cstdint>
#include <numeric>
#include <utility>

#include "absl/status/status_macros.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"

namespace lockstep {
namespace {

constexpr int64_t kMaxBytes = int64_t{1} << 30;

ConstBuffer BytesOf(absl::string_view text) {
  return ConstBuffer(text.data(), static_cast<int64_t>(text.size()), DType::kU8);
}
Buffer BytesOf(std::string& text) { return Buffer{&text[0], static_cast<int64_t>(text.size()), DType::kU8, Device()}; }

absl::Status CheckLength(int rank, int64_t length) {
  if (length <= kMaxBytes) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("rank ", rank, "'s string has ", length, " bytes; at most ", kMaxBytes, ". Send large data as a Buffer"));
}

absl::StatusOr<std::vector<int64_t>> ShareLengths(Communicator& communicator, absl::string_view text,
                                                  const CallOptions& options) {
  const auto mine = static_cast<int64_t>(text.size());
  std::vector<int64_t> lengths(static_cast<size_t>(communicator.size()));
  ABSL_RETURN_IF_ERROR(
      communicator.AllGather(ConstBuffer(&mine, 1, DType::kI64), MakeBuffer(absl::MakeSpan(lengths)), options).Wait());
  for (size_t rank = 0; rank < lengths.size(); ++rank) {
    ABSL_RETURN_IF_ERROR(CheckLength(static_cast<int>(rank), lengths[rank]));
  }
  return lengths;
}

std::vector<std::string> Divide(absl::string_view whole, const std::vector<int64_t>& lengths) {
  std::vector<std::string> parts;
  size_t begin = 0;
  for (const int64_t length : lengths) {
    parts.emplace_back(whole.substr(begin, static_cast<size_t>(length)));
    begin += static_cast<size_t>(length);
  }
  return parts;
}

std::string RoomFor(const std::vector<int64_t>& lengths) {
  return std::string(static_cast<size_t>(std::accumulate(lengths.begin(), lengths.end(), int64_t{0})), '\0');
}

}  // namespace

absl::StatusOr<std::string> BroadcastString(Communicator& communicator, absl::string_view text, int root,
                                            const CallOptions& options) {
  auto length = static_cast<int64_t>(text.size());
  ABSL_RETURN_IF_ERROR(communicator.Broadcast(Buffer{&length, 1, DType::kI64, Device()}, root, options).Wait());
  ABSL_RETURN_IF_ERROR(CheckLength(root, length));
  std::string result(communicator.rank() == root ? text : "");
  result.resize(static_cast<size_t>(length));
  ABSL_RETURN_IF_ERROR(communicator.Broadcast(BytesOf(result), root, options).Wait());
  return result;
}

absl::StatusOr<std::vector<std::string>> AllGatherStrings(Communicator& communicator, absl::string_view text,
                                                          const CallOptions& options) {
  ABSL_ASSIGN_OR_RETURN(const std::vector<int64_t> lengths, ShareLengths(communicator, text, options));
  std::string whole = RoomFor(lengths);
  ABSL_RETURN_IF_ERROR(communicator.AllGatherV(BytesOf(text), BytesOf(whole), lengths, options).Wait());
  return Divide(whole, lengths);
}

absl::StatusOr<std::vector<std::string>> GatherStrings(Communicator& communicator, absl::string_view text, int root,
                                                       const CallOptions& options) {
  ABSL_ASSIGN_OR_RETURN(const std::vector<int64_t> lengths, ShareLengths(communicator, text, options));
  std::string whole = communicator.rank() == root ? RoomFor(lengths) : std::string();
  ABSL_RETURN_IF_ERROR(communicator.GatherV(BytesOf(text), BytesOf(whole), lengths, root, options).Wait());
  if (communicator.rank() != root) return std::vector<std::string>();
  return Divide(whole, lengths);
}

}  // namespace lockstep
