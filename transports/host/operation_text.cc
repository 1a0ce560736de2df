#include "transports/host/operation_text.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace lockstep {
namespace {

// Counts of more ranks than this are cut short.
constexpr int kListed = 16;

// "f32[8 x 4]": for each of 4 ranks 8 elements; "f32[8, 0, 4]".
std::string DescribeParts(DType dtype, const Parts& parts, int size) {
  if (parts.equal()) return absl::StrCat(DTypeName(dtype), "[", parts.count(0), " x ", size, "]");
  std::vector<int64_t> counts;
  for (int rank = 0; rank < size && rank < kListed; ++rank) counts.push_back(parts.count(rank));
  return absl::StrCat(DTypeName(dtype), "[", absl::StrJoin(counts, ", "), size > kListed ? ", ..." : "", "]");
}

// What follows kind, name and number.
std::string Details(const Operation& operation, int rank, int size) {
  const DType dtype = DTypeOf(operation);
  const bool is_root = operation.peer == rank;
  const std::string op = absl::StrCat(ReduceOpName(operation.op), " ");
  switch (operation.kind) {
    case OperationKind::kAllReduce:
      return absl::StrCat(op, DescribeBuffer(operation.in));
    case OperationKind::kReduce:
      return absl::StrCat("to rank ", operation.peer, ", ", op, DescribeBuffer(operation.in));
    case OperationKind::kReduceScatter:
      return absl::StrCat(op, DescribeParts(dtype, operation.parts, size));
    case OperationKind::kBroadcast:
      return absl::StrCat("from rank ", operation.peer, ", ", DescribeBuffer(operation.out));
    case OperationKind::kAllGather:
      return DescribeParts(dtype, operation.parts, size);
    case OperationKind::kGather:
      return absl::StrCat("to rank ", operation.peer, ", ",
                          is_root ? DescribeParts(dtype, operation.parts, size) : DescribeBuffer(operation.in));
    case OperationKind::kScatter:
      return absl::StrCat("from rank ", operation.peer, ", ",
                          is_root ? DescribeParts(dtype, operation.parts, size) : DescribeBuffer(operation.out));
    case OperationKind::kAllToAll:
      return absl::StrCat("sends ", DescribeParts(dtype, operation.in_parts, size), ", takes ",
                          DescribeParts(dtype, operation.parts, size));
    case OperationKind::kBarrier:
      return "";
    case OperationKind::kSend:
      return absl::StrCat("to rank ", operation.peer, ", tag ", operation.tag, ", ", DescribeBuffer(operation.in));
    case OperationKind::kRecv:
      return absl::StrCat("from ", operation.peer == kAnyRank ? "any rank" : absl::StrCat("rank ", operation.peer), ", tag ",
                          operation.tag, ", ", DescribeBuffer(operation.out));
  }
  return "";
}

}  // namespace

std::string DescribeOperation(const Operation& operation, int rank, int size) {
  std::vector<std::string> facts;
  if (operation.sequence >= 0) facts.push_back(absl::StrCat("op ", operation.sequence));
  if (std::string details = Details(operation, rank, size); !details.empty()) facts.push_back(std::move(details));
  return absl::StrCat(OperationKindName(operation.kind),
                      operation.Name().empty() ? "" : absl::StrCat(" \"", operation.Name(), "\""),
                      facts.empty() ? "" : absl::StrCat(" (", absl::StrJoin(facts, ", "), ")"));
}

}  // namespace lockstep
