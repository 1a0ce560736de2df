#include "transports/host/operation.h"

#include <algorithm>
#include <functional>

#include "absl/strings/str_cat.h"

namespace lockstep {
namespace {

constexpr int kMaxTag = (1 << 16) - 1;
// More than memory holds; times a million ranks of 8-byte elements it is still a 64-bit number.
constexpr int64_t kMaxCount = int64_t{1} << 38;

absl::Status CheckBuffer(absl::string_view argument, const ConstBuffer& buffer) {
  if (buffer.count < 0) return absl::InvalidArgumentError(absl::StrCat("`", argument, "` has ", buffer.count, " elements"));
  if (buffer.count > kMaxCount) {
    return absl::InvalidArgumentError(absl::StrCat("`", argument, "` has ", buffer.count, " elements; at most ", kMaxCount));
  }
  if (buffer.data == nullptr && buffer.count > 0) {
    return absl::InvalidArgumentError(absl::StrCat("`", argument, "` has elements but no memory: its data is null"));
  }
  if (buffer.device == Device()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("`", argument, "` lies on ", DeviceName(buffer.device), "; this transport moves host memory"));
}

// Overlapping in another way than `in` lying at `own_part`, where it would end up anyway, is an error.
absl::Status CheckOverlap(const ConstBuffer& in, const Buffer& out, const void* own_part) {
  const std::less<const char*> before;
  const char* const in_begin = static_cast<const char*>(in.data);
  const char* const out_begin = static_cast<const char*>(out.data);
  const bool apart = !before(in_begin, out_begin + out.bytes()) || !before(out_begin, in_begin + in.bytes());
  if (apart || in.data == own_part) return absl::OkStatus();
  return absl::InvalidArgumentError("`in` and `out` overlap; use the same memory for both, or memory apart");
}

absl::Status CheckInAndOut(const Operation& operation, int64_t out_count, const char* own_part) {
  absl::Status status = CheckBuffer("in", operation.in);
  status.Update(CheckBuffer("out", operation.out));
  if (!status.ok()) return status;
  if (operation.out.count != out_count || operation.in.dtype != operation.out.dtype) {
    return absl::InvalidArgumentError(absl::StrCat("`in` is ", DescribeBuffer(operation.in), " but `out` is ",
                                                   DescribeBuffer(operation.out), "; expected ",
                                                   DTypeName(operation.in.dtype), "[", out_count, "]"));
  }
  return CheckOverlap(operation.in, operation.out, own_part);
}

absl::Status CheckPeer(const Operation& operation, int rank, int size) {
  if (operation.tag < 0 || operation.tag > kMaxTag) {
    return absl::InvalidArgumentError(absl::StrCat("tag ", operation.tag, " is not 0 to ", kMaxTag));
  }
  if (operation.peer >= 0 && operation.peer < size && operation.peer != rank) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("rank ", operation.peer, " is no peer of rank ", rank,
                                                 ": peers are the other ranks of a group of ", size));
}

absl::Status CheckRoot(int root, int size) {
  if (root >= 0 && root < size) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("there is no rank ", root, " to be root: ranks are 0 to ", size - 1));
}

}  // namespace

absl::string_view OperationKindName(OperationKind kind) {
  constexpr absl::string_view kNames[] = {"all_reduce", "broadcast", "all_gather", "barrier", "send", "recv"};
  return kNames[static_cast<int>(kind)];
}

void Operation::SetName(absl::string_view text) {
  const size_t kept = std::min(text.size(), name.size() - 1);
  std::copy_n(text.data(), kept, name.data());
  name[kept] = '\0';
}

absl::Status CheckOperation(const Operation& operation, int rank, int size) {
  absl::Status status;
  switch (operation.kind) {
    case OperationKind::kAllReduce:
      status.Update(CheckInAndOut(operation, operation.in.count, static_cast<const char*>(operation.out.data)));
      status.Update(CheckReduction(operation.in.dtype, operation.op));
      return status;
    case OperationKind::kAllGather:
      if (status = CheckBuffer("in", operation.in); !status.ok()) return status;
      return CheckInAndOut(operation, operation.in.count * size,
                           static_cast<const char*>(operation.out.data) + rank * operation.in.bytes());
    case OperationKind::kBroadcast:
      status.Update(CheckRoot(operation.peer, size));
      status.Update(CheckBuffer("inout", operation.out));
      return status;
    case OperationKind::kBarrier:
      return status;
    case OperationKind::kSend:
      status.Update(CheckPeer(operation, rank, size));
      status.Update(CheckBuffer("in", operation.in));
      return status;
    case OperationKind::kRecv:
      status.Update(CheckPeer(operation, rank, size));
      status.Update(CheckBuffer("out", operation.out));
      return status;
  }
  return absl::InternalError("unknown operation; please report this");
}

std::string DescribeSignature(const Operation& operation) {
  const std::string kind(OperationKindName(operation.kind));
  switch (operation.kind) {
    case OperationKind::kAllReduce:
      return absl::StrCat(kind, " ", ReduceOpName(operation.op), " ", DescribeBuffer(operation.in));
    case OperationKind::kBroadcast:
      return absl::StrCat(kind, " from rank ", operation.peer, " ", DescribeBuffer(operation.out));
    case OperationKind::kAllGather:
      return absl::StrCat(kind, " ", DescribeBuffer(operation.in));
    case OperationKind::kBarrier:
      return kind;
    case OperationKind::kSend:
      return absl::StrCat(kind, " to rank ", operation.peer, ", tag ", operation.tag, ", ", DescribeBuffer(operation.in));
    case OperationKind::kRecv:
      return absl::StrCat(kind, " from rank ", operation.peer, ", tag ", operation.tag, ", ", DescribeBuffer(operation.out));
  }
  return kind;
}

std::string DescribeOperation(const Operation& operation) {
  const std::string signature = DescribeSignature(operation);
  const absl::string_view kind = OperationKindName(operation.kind);
  const std::string name = operation.name[0] == '\0' ? "" : absl::StrCat(" \"", operation.name.data(), "\"");
  const std::string number = operation.sequence < 0 ? "" : absl::StrCat("op ", operation.sequence);
  absl::string_view rest = absl::string_view(signature).substr(kind.size());
  while (!rest.empty() && rest[0] == ' ') rest.remove_prefix(1);
  const std::string details = absl::StrCat(number, !number.empty() && !rest.empty() ? ", " : "", rest);
  return absl::StrCat(kind, name, details.empty() ? "" : absl::StrCat(" (", details, ")"));
}

bool SameSignature(const Operation& a, const Operation& b) {
  if (a.kind != b.kind) return false;
  switch (a.kind) {
    case OperationKind::kAllReduce:
      return a.op == b.op && a.in.dtype == b.in.dtype && a.in.count == b.in.count;
    case OperationKind::kBroadcast:
      return a.peer == b.peer && a.out.dtype == b.out.dtype && a.out.count == b.out.count;
    case OperationKind::kAllGather:
      return a.in.dtype == b.in.dtype && a.in.count == b.in.count;
    default:
      return true;
  }
}

}  // namespace lockstep
