// One started operation of a transport that moves host memory, as a plain value: what to move, and how to call it in errors.
#ifndef LOCKSTEP_TRANSPORTS_HOST_OPERATION_H_
#define LOCKSTEP_TRANSPORTS_HOST_OPERATION_H_

#include <array>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "transports/transport.h"

namespace lockstep {

enum class OperationKind : uint8_t { kAllReduce, kBroadcast, kAllGather, kBarrier, kSend, kRecv };

absl::string_view OperationKindName(OperationKind kind);  // "all_reduce"
inline bool IsCollective(OperationKind kind) { return kind != OperationKind::kSend && kind != OperationKind::kRecv; }

// Fixed in size and free of pointers to what it does not need, so that it can wait in a ring without an allocation.
struct Operation {
  OperationKind kind = OperationKind::kBarrier;
  ReduceOp op = ReduceOp::kSum;
  ConstBuffer in;  // broadcast: the same memory as out
  Buffer out;
  int peer = -1;  // the root of a broadcast, the other end of a message
  int tag = 0;
  double premultiplier = 1;
  absl::Time deadline = absl::InfiniteFuture();
  int64_t sequence = -1;
  std::array<char, 48> name = {};  // ends with a 0

  void SetName(absl::string_view text);
};

// OK, or INVALID_ARGUMENT saying what is wrong with the arguments on rank `rank` of `size`.
absl::Status CheckOperation(const Operation& operation, int rank, int size);

// What all ranks must agree on: `all_reduce sum f32[1024]`, `broadcast from rank 2 i64[3]`, `recv from rank 0, tag 7, u8[4]`.
std::string DescribeSignature(const Operation& operation);

// `all_reduce "bucket 3" (op 1841, sum f32[262144])`.
std::string DescribeOperation(const Operation& operation);

// Whether two ranks' collectives fit together.
bool SameSignature(const Operation& a, const Operation& b);

}  // namespace lockstep

#endif  // LOCKSTEP_TRANSPORTS_HOST_OPERATION_H_
