#include "transports/in_process/execute.h"

#include <algorithm>
#include <cstring>

#include "transports/kernels/reduce.h"

namespace lockstep {
namespace {

using OperationOf = absl::FunctionRef<const Operation&(int rank)>;

void Copy(void* to, const void* from, int64_t bytes) {
  if (to != from && bytes > 0) std::memcpy(to, from, static_cast<size_t>(bytes));
}

Buffer Part(const Buffer& buffer, int64_t begin, int64_t count) {
  return Buffer{static_cast<char*>(buffer.data) + begin * SizeOf(buffer.dtype), count, buffer.dtype, buffer.device};
}
ConstBuffer Part(const ConstBuffer& buffer, int64_t begin, int64_t count) {
  return ConstBuffer(static_cast<const char*>(buffer.data) + begin * SizeOf(buffer.dtype), count, buffer.dtype,
                     buffer.device);
}

// Adds rank `rank`'s part, premultiplied, by way of a small piece of scratch: its input is not ours to change.
void ReducePremultiplied(const Buffer& sum, const ConstBuffer& in, double factor) {
  alignas(64) char scratch[4096];
  const int64_t step = static_cast<int64_t>(sizeof(scratch)) / SizeOf(sum.dtype);
  for (int64_t begin = 0; begin < sum.count; begin += step) {
    const int64_t count = std::min(step, sum.count - begin);
    const Buffer scaled{scratch, count, sum.dtype, Device()};
    Scale(Part(in, begin, count), scaled, factor);
    ReduceInto(Part(sum, begin, count), scaled, ReduceOp::kSum);
  }
}

void AllReduce(int size, OperationOf of) {
  const Operation& zero = of(0);
  const bool premultiply = zero.op == ReduceOp::kPremulSum;
  if (premultiply) {
    Scale(zero.in, zero.out, zero.premultiplier);
  } else {
    Copy(zero.out.data, zero.in.data, zero.out.bytes());
  }
  for (int rank = 1; rank < size; ++rank) {
    const Operation& other = of(rank);
    if (premultiply) {
      ReducePremultiplied(zero.out, other.in, other.premultiplier);
    } else {
      ReduceInto(zero.out, other.in, zero.op);
    }
  }
  if (zero.op == ReduceOp::kAvg) DivideByRanks(zero.out, size);
  for (int rank = 1; rank < size; ++rank) Copy(of(rank).out.data, zero.out.data, zero.out.bytes());
}

void Broadcast(int size, OperationOf of) {
  const Operation& root = of(of(0).peer);
  for (int rank = 0; rank < size; ++rank) Copy(of(rank).out.data, root.in.data, root.in.bytes());
}

void AllGather(int size, OperationOf of) {
  for (int to = 0; to < size; ++to) {
    for (int from = 0; from < size; ++from) {
      const ConstBuffer& in = of(from).in;
      Copy(static_cast<char*>(of(to).out.data) + from * in.bytes(), in.data, in.bytes());
    }
  }
}

}  // namespace

void ExecuteCollective(int size, OperationOf of) {
  switch (of(0).kind) {
    case OperationKind::kAllReduce:
      return AllReduce(size, of);
    case OperationKind::kBroadcast:
      return Broadcast(size, of);
    case OperationKind::kAllGather:
      return AllGather(size, of);
    default:
      return;  // a barrier is over when all have come
  }
}

}  // namespace lockstep
