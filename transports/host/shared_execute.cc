#include "transports/host/shared_execute.h"

#include <cstddef>
#include <cstring>

#include "absl/container/inlined_vector.h"
#include "transports/kernels/reduce.h"

namespace lockstep {
namespace {

using OperationOf = absl::FunctionRef<const Operation&(int rank)>;

// Room for the pointers of as many ranks as threads are likely to play, so that a step allocates nothing.
constexpr size_t kLikelyRanks = 16;

// The reduction of all ranks' elements from `begin` on, into as many as `out` has.
void ReduceFrom(int size, OperationOf of, int64_t begin, const Buffer& out) {
  const ReduceOp op = of(0).op;
  absl::InlinedVector<const void*, kLikelyRanks> inputs;
  absl::InlinedVector<double, kLikelyRanks> factors;
  for (int rank = 0; rank < size; ++rank) {
    inputs.push_back(static_cast<const char*>(of(rank).in.data) + begin * SizeOf(out.dtype));
    factors.push_back(of(rank).premultiplier);
  }
  if (op == ReduceOp::kPremulSum) return ReducePremultiplied(inputs, factors, out);
  Reduce(inputs, op, out);
}

void AllReduce(int size, OperationOf of) {
  const Buffer& result = of(0).out;
  ReduceFrom(size, of, 0, result);
  for (int rank = 1; rank < size; ++rank) CopyElements(result, of(rank).out);
}

// In place, a rank's result overwrites its part of its own input, which only that result is made of.
void ReduceScatter(int size, OperationOf of) {
  for (int rank = 0; rank < size; ++rank) ReduceFrom(size, of, of(rank).parts.begin(rank), of(rank).out);
}

void Gather(int size, OperationOf of, const Operation& to) {
  for (int from = 0; from < size; ++from) CopyElements(of(from).in, PartOf(to.out, to.parts, from));
}

void Scatter(int size, OperationOf of, const Operation& from) {
  for (int to = 0; to < size; ++to) CopyElements(PartOf(from.in, from.parts, to), of(to).out);
}

void AllToAll(int size, OperationOf of) {
  for (int from = 0; from < size; ++from) {
    for (int to = 0; to < size; ++to) {
      CopyElements(PartOf(of(from).in, of(from).in_parts, to), PartOf(of(to).out, of(to).parts, from));
    }
  }
}

}  // namespace

void CopyElements(const ConstBuffer& from, const Buffer& to) {
  if (from.data != to.data && from.count > 0) std::memcpy(to.data, from.data, static_cast<size_t>(from.bytes()));
}

void ExecuteShared(int size, OperationOf of) {
  const Operation& first = of(0);
  switch (first.kind) {
    case OperationKind::kAllReduce:
      return AllReduce(size, of);
    case OperationKind::kReduce:
      return ReduceFrom(size, of, 0, of(first.peer).out);
    case OperationKind::kReduceScatter:
      return ReduceScatter(size, of);
    case OperationKind::kBroadcast:
      for (int rank = 0; rank < size; ++rank) CopyElements(of(first.peer).in, of(rank).out);
      return;
    case OperationKind::kAllGather:
      for (int rank = 0; rank < size; ++rank) Gather(size, of, of(rank));
      return;
    case OperationKind::kGather:
      return Gather(size, of, of(first.peer));
    case OperationKind::kScatter:
      return Scatter(size, of, of(first.peer));
    case OperationKind::kAllToAll:
      return AllToAll(size, of);
    default:
      return;  // a barrier is over when all have come
  }
}

}  // namespace lockstep
