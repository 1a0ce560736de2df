#include "transports/host/operation_check.h"

#include <cmath>
#include <cstdint>
#include <functional>

#include "absl/strings/str_cat.h"

namespace lockstep {
namespace {

constexpr int kMaxTag = (1 << 16) - 1;
// More than memory holds; times a million ranks of 8-byte elements it is still a 64-bit number.
constexpr int64_t kMaxCount = int64_t{1} << 38;

absl::Status CheckCount(absl::string_view argument, int64_t count) {
  if (count < 0) return absl::InvalidArgumentError(absl::StrCat("`", argument, "` has ", count, " elements"));
  if (count <= kMaxCount) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("`", argument, "` has ", count, " elements; at most ", kMaxCount));
}

absl::Status CheckBuffer(absl::string_view argument, const ConstBuffer& buffer) {
  if (static_cast<int>(buffer.dtype) >= kNumDTypes) {
    return absl::InvalidArgumentError(absl::StrCat("`", argument, "` has the dtype ", static_cast<int>(buffer.dtype),
                                                   ", which is none; is the buffer initialised?"));
  }
  if (absl::Status status = CheckCount(argument, buffer.count); !status.ok()) return status;
  if (buffer.data == nullptr && buffer.count > 0) {
    return absl::InvalidArgumentError(absl::StrCat("`", argument, "` has elements but no memory: its data is null"));
  }
  if (reinterpret_cast<uintptr_t>(buffer.data) % static_cast<uintptr_t>(SizeOf(buffer.dtype)) != 0) {
    return absl::InvalidArgumentError(absl::StrCat("`", argument, "` does not begin at a multiple of ", SizeOf(buffer.dtype),
                                                   " bytes, as ", DTypeName(buffer.dtype), " does"));
  }
  if (buffer.device == Device()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("`", argument, "` lies on ", DeviceName(buffer.device), "; this transport moves host memory"));
}

// `own` is where, within the longer buffer, the shorter one may lie: where its elements belong anyway. Null: nowhere.
absl::Status CheckApart(const ConstBuffer& in, const Buffer& out, const void* own) {
  const std::less<const char*> before;
  const char* const in_begin = static_cast<const char*>(in.data);
  const char* const out_begin = static_cast<const char*>(out.data);
  const bool apart = !before(in_begin, out_begin + out.bytes()) || !before(out_begin, in_begin + in.bytes());
  const void* const shorter = in.count <= out.count ? in.data : out.data;
  if (apart || shorter == own) return absl::OkStatus();
  return absl::InvalidArgumentError(own == nullptr
                                        ? "`in` and `out` overlap; this operation needs memory apart"
                                        : "`in` and `out` overlap; use the same memory for both, or memory apart");
}

absl::Status CheckInAndOut(const Operation& operation, int64_t in_count, int64_t out_count) {
  const ConstBuffer& in = operation.in;
  const Buffer& out = operation.out;
  absl::Status status = CheckBuffer("in", in);
  status.Update(CheckBuffer("out", out));
  if (!status.ok()) return status;
  const absl::string_view dtype = DTypeName(in.dtype);
  if (in.count != in_count) {
    return absl::InvalidArgumentError(
        absl::StrCat("`in` is ", DescribeBuffer(in), "; expected ", dtype, "[", in_count, "]"));
  }
  if (out.count == out_count && in.dtype == out.dtype) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("`in` is ", DescribeBuffer(in), " but `out` is ", DescribeBuffer(out),
                                                 "; expected ", dtype, "[", out_count, "]"));
}

absl::Status CheckPeer(const Operation& operation, int rank, int size) {
  if (operation.tag < 0 || operation.tag > kMaxTag) {
    return absl::InvalidArgumentError(absl::StrCat("tag ", operation.tag, " is not 0 to ", kMaxTag));
  }
  if (operation.kind == OperationKind::kRecv && operation.peer == kAnyRank && size > 1) return absl::OkStatus();
  if (operation.peer >= 0 && operation.peer < size && operation.peer != rank) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("rank ", operation.peer, " is no peer of rank ", rank,
                                                 ": peers are the other ranks of a group of ", size));
}

absl::Status CheckRoot(int root, int size) {
  if (root >= 0 && root < size) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("there is no rank ", root, " to be root: ranks are 0 to ", size - 1));
}

absl::Status CheckReductionOf(const Operation& operation) {
  if (absl::Status status = CheckReduction(operation.in.dtype, operation.op); !status.ok()) return status;
  if (operation.op != ReduceOp::kPremulSum || std::isfinite(operation.premultiplier)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("the premultiplier is ", operation.premultiplier));
}

// A collective whose longer side has a part for every rank, of which `own` is this rank's.
absl::Status CheckParted(const Operation& operation, int rank, int size, bool out_is_parted) {
  const int64_t own = operation.parts.count(rank);
  absl::Status status = CheckCount(out_is_parted ? "in" : "out", own);
  if (!status.ok()) return status;
  const int64_t all = operation.parts.begin(size);
  status = CheckInAndOut(operation, out_is_parted ? own : all, out_is_parted ? all : own);
  if (!status.ok()) return status;
  const void* const own_part =
      out_is_parted ? PartOf(operation.out, operation.parts, rank).data : PartOf(operation.in, operation.parts, rank).data;
  return CheckApart(operation.in, operation.out, own_part);
}

absl::Status CheckAllToAll(const Operation& operation, int size) {
  if (absl::Status status = CheckCount("in", operation.in.count); !status.ok()) return status;
  if (operation.in_parts.equal() && operation.in_parts.begin(size) != operation.in.count) {
    return absl::InvalidArgumentError(absl::StrCat("`in` has ", operation.in.count, " elements; expected equal parts for ",
                                                   size, " ranks, or counts that add up to it"));
  }
  absl::Status status = CheckInAndOut(operation, operation.in_parts.begin(size), operation.parts.begin(size));
  status.Update(CheckApart(operation.in, operation.out, nullptr));
  return status;
}

}  // namespace

absl::Status CheckCounts(absl::string_view argument, absl::Span<const int64_t> counts, int size) {
  if (static_cast<int64_t>(counts.size()) != size) {
    return absl::InvalidArgumentError(
        absl::StrCat("`", argument, "` has ", counts.size(), " counts; expected one for each of ", size, " ranks"));
  }
  for (int rank = 0; rank < size; ++rank) {
    const int64_t count = counts[static_cast<size_t>(rank)];
    if (count >= 0 && count <= kMaxCount) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("`", argument, "` gives rank ", rank, " ", count, " elements; expected 0 to ", kMaxCount));
  }
  return absl::OkStatus();
}

absl::Status CheckOperation(const Operation& operation, int rank, int size) {
  absl::Status status;
  if (HasRoot(operation.kind)) status = CheckRoot(operation.peer, size);
  if (!status.ok()) return status;
  const bool is_root = operation.peer == rank;
  switch (operation.kind) {
    case OperationKind::kReduce:
      if (!is_root) {
        status.Update(CheckBuffer("in", operation.in));
        status.Update(CheckReductionOf(operation));
        return status;
      }
      [[fallthrough]];
    case OperationKind::kAllReduce:
      status.Update(CheckInAndOut(operation, operation.in.count, operation.in.count));
      if (!status.ok()) return status;
      status.Update(CheckApart(operation.in, operation.out, operation.out.data));
      status.Update(CheckReductionOf(operation));
      return status;
    case OperationKind::kReduceScatter:
      status.Update(CheckParted(operation, rank, size, /*out_is_parted=*/false));
      if (status.ok()) status.Update(CheckReductionOf(operation));
      return status;
    case OperationKind::kBroadcast:
      return CheckBuffer("inout", operation.out);
    case OperationKind::kAllGather:
      return CheckParted(operation, rank, size, /*out_is_parted=*/true);
    case OperationKind::kGather:
      return is_root ? CheckParted(operation, rank, size, /*out_is_parted=*/true) : CheckBuffer("in", operation.in);
    case OperationKind::kScatter:
      return is_root ? CheckParted(operation, rank, size, /*out_is_parted=*/false) : CheckBuffer("out", operation.out);
    case OperationKind::kAllToAll:
      return CheckAllToAll(operation, size);
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

bool FitTogether(const Operation& a, int rank_a, const Operation& b, int rank_b) {
  if (a.kind != b.kind || a.name != b.name || (HasRoot(a.kind) && a.peer != b.peer)) return false;
  if (a.kind == OperationKind::kBarrier) return true;
  if (DTypeOf(a) != DTypeOf(b) || (Reduces(a.kind) && a.op != b.op)) return false;
  switch (a.kind) {
    case OperationKind::kAllReduce:
    case OperationKind::kReduce:
      return a.in.count == b.in.count;
    case OperationKind::kBroadcast:
      return a.out.count == b.out.count;
    case OperationKind::kReduceScatter:
    case OperationKind::kAllGather:
      return a.parts == b.parts;
    case OperationKind::kGather:
      return (a.peer != rank_a || a.parts.count(rank_b) == b.in.count) &&
             (b.peer != rank_b || b.parts.count(rank_a) == a.in.count);
    case OperationKind::kScatter:
      return (a.peer != rank_a || a.parts.count(rank_b) == b.out.count) &&
             (b.peer != rank_b || b.parts.count(rank_a) == a.out.count);
    case OperationKind::kAllToAll:
      return a.in_parts.count(rank_b) == b.parts.count(rank_a) && b.in_parts.count(rank_a) == a.parts.count(rank_b);
    default:
      return true;
  }
}

}  // namespace lockstep
