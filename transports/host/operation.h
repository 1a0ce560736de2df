// One started operation of a transport that moves host memory, as a plain value: what to move, between whom, until when.
#ifndef LOCKSTEP_TRANSPORTS_HOST_OPERATION_H_
#define LOCKSTEP_TRANSPORTS_HOST_OPERATION_H_

#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "transports/transport.h"

namespace lockstep {

enum class OperationKind : uint8_t {
  kAllReduce,
  kReduce,
  kReduceScatter,
  kBroadcast,
  kAllGather,
  kGather,
  kScatter,
  kAllToAll,
  kBarrier,
  kSend,
  kRecv,
};
inline constexpr int kNumOperationKinds = 11;

absl::string_view OperationKindName(OperationKind kind);  // "all_reduce"
inline bool IsCollective(OperationKind kind) { return kind != OperationKind::kSend && kind != OperationKind::kRecv; }
inline bool HasRoot(OperationKind kind) {
  return kind == OperationKind::kReduce || kind == OperationKind::kBroadcast || kind == OperationKind::kGather ||
         kind == OperationKind::kScatter;
}
inline bool Reduces(OperationKind kind) { return kind <= OperationKind::kReduceScatter; }

// How a buffer is divided among the ranks, in elements, one part after the other: equal parts, or a count for each.
class Parts {
 public:
  Parts() = default;
  explicit Parts(int64_t each) : each_(each) {}
  // Of `total` elements: parts of `each`, of which the last ones may be shorter or empty.
  Parts(int64_t each, int64_t total) : each_(each), total_(total) {}
  // Equal counts are equal parts, and allocate nothing.
  explicit Parts(absl::Span<const int64_t> counts);

  int64_t count(int rank) const;
  // Where the part of `rank` begins; of rank `size`, where all end.
  int64_t begin(int rank) const;
  bool equal() const { return counts_ == nullptr; }

  friend bool operator==(const Parts& a, const Parts& b);

 private:
  int64_t each_ = 0;
  int64_t total_ = std::numeric_limits<int64_t>::max();
  std::shared_ptr<const std::vector<int64_t>> counts_;  // shared, so that an operation may be copied into a ring
};

// Fixed in size and free of pointers to what it does not need, so that it can wait in a ring without an allocation.
struct Operation {
  OperationKind kind = OperationKind::kBarrier;
  ReduceOp op = ReduceOp::kSum;
  ConstBuffer in;  // broadcast: the same memory as out
  Buffer out;
  // Of the side with a part for every rank: all_gather, gather and all_to_all's out, reduce_scatter's and scatter's in.
  Parts parts;
  Parts in_parts;  // all_to_all's in
  int peer = -1;   // the root of a collective that has one, the other end of a message
  int tag = 0;
  double premultiplier = 1;
  absl::Time deadline = absl::InfiniteFuture();
  int64_t sequence = -1;
  int in_group = 0;                // how many operations its group has; 0: it stands alone
  int group_left = 0;              // how many of them follow it
  std::array<char, 48> name = {};  // ends with a 0

  void SetName(absl::string_view text);
  absl::string_view Name() const { return name.data(); }
};

// The dtype of what is moved; of a barrier, any.
inline DType DTypeOf(const Operation& operation) {
  const bool sends = Reduces(operation.kind) || operation.kind == OperationKind::kAllGather ||
                     operation.kind == OperationKind::kGather || operation.kind == OperationKind::kSend;
  return sends ? operation.in.dtype : operation.out.dtype;
}

// The elements of part `rank`.
Buffer PartOf(const Buffer& buffer, const Parts& parts, int rank);
ConstBuffer PartOf(const ConstBuffer& buffer, const Parts& parts, int rank);

}  // namespace lockstep

#endif  // LOCKSTEP_TRANSPORTS_HOST_OPERATION_H_
