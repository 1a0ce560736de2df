#include "transports/gloo/gloo_execute.h"

#include <cstring>

#include "gloo/allgather.h"
#include "gloo/allreduce.h"
#include "gloo/barrier.h"
#include "gloo/broadcast.h"
#include "gloo/transport/unbound_buffer.h"
#include "gloo/types.h"
#include "transports/kernels/reduce.h"

namespace lockstep {
namespace {

// Gloo's own collectives use prefixes from 1 to 8 (gloo/types.h).
constexpr uint8_t kMessageSlotPrefix = 0x40;

// What both sides of a transfer must agree on. FNV-1a, folded to the 32 bits that Gloo has room for.
uint32_t TagOf(const Operation& operation, int64_t collective) {
  const bool message = !IsCollective(operation.kind);
  const bool sends = operation.kind == OperationKind::kSend || operation.kind == OperationKind::kAllReduce ||
                     operation.kind == OperationKind::kAllGather;
  const ConstBuffer what = sends ? operation.in : ConstBuffer(operation.out);
  const int64_t fields[] = {message ? -1 : static_cast<int64_t>(operation.kind),
                            message ? operation.tag : operation.peer,
                            static_cast<int64_t>(operation.op),
                            static_cast<int64_t>(what.dtype),
                            what.count,
                            message ? 0 : collective};
  uint64_t hash = 0xcbf29ce484222325;
  for (const int64_t field : fields) {
    for (int shift = 0; shift < 64; shift += 8) hash = (hash ^ ((field >> shift) & 0xff)) * 0x100000001b3;
  }
  return static_cast<uint32_t>(hash ^ (hash >> 32));
}

// Calls `body` with a value of some type as large as `dtype`'s: all that Gloo asks of an element.
template <typename Body>
void WithElement(DType dtype, Body body) {
  switch (SizeOf(dtype)) {
    case 1:
      return body(uint8_t{});
    case 2:
      return body(uint16_t{});
    case 4:
      return body(uint32_t{});
    default:
      return body(uint64_t{});
  }
}

// `in` becomes part of a call whose buffers Gloo only reads, though it takes them as not const.
template <typename T>
T* Elements(const void* data) {
  return static_cast<T*>(const_cast<void*>(data));
}

void Reduce(void* out, const void* a, const void* b, size_t count, DType dtype, ReduceOp op) {
  const Buffer sum{out, static_cast<int64_t>(count), dtype, Device()};
  if (out != a) std::memcpy(out, a, static_cast<size_t>(sum.bytes()));
  ReduceInto(sum, ConstBuffer(b, sum.count, dtype), op);
}

void AllReduce(const std::shared_ptr<GlooMesh>& mesh, const Operation& operation, uint32_t tag,
               std::chrono::milliseconds timeout) {
  const Buffer& out = operation.out;
  const bool premultiply = operation.op == ReduceOp::kPremulSum;
  if (premultiply) Scale(operation.in, out, operation.premultiplier);
  WithElement(out.dtype, [&](auto element) {
    using T = decltype(element);
    gloo::AllreduceOptions options(mesh);
    if (!premultiply && operation.in.data != out.data) {
      options.setInput(Elements<T>(operation.in.data), static_cast<size_t>(out.count));
    }
    options.setOutput(Elements<T>(out.data), static_cast<size_t>(out.count));
    options.setAlgorithm(gloo::AllreduceOptions::Algorithm::RING);
    options.setReduceFunction([dtype = out.dtype, op = operation.op](void* to, const void* a, const void* b, size_t count) {
      Reduce(to, a, b, count, dtype, op);
    });
    options.setTag(tag);
    options.setTimeout(timeout);
    gloo::allreduce(options);
  });
  if (operation.op == ReduceOp::kAvg) DivideByRanks(out, mesh->size);
}

void Broadcast(const std::shared_ptr<GlooMesh>& mesh, const Operation& operation, uint32_t tag,
               std::chrono::milliseconds timeout) {
  WithElement(operation.out.dtype, [&](auto element) {
    gloo::BroadcastOptions options(mesh);
    options.setOutput(Elements<decltype(element)>(operation.out.data), static_cast<size_t>(operation.out.count));
    options.setRoot(operation.peer);
    options.setTag(tag);
    options.setTimeout(timeout);
    gloo::broadcast(options);
  });
}

void AllGather(const std::shared_ptr<GlooMesh>& mesh, const Operation& operation, uint32_t tag,
               std::chrono::milliseconds timeout) {
  const ConstBuffer& in = operation.in;
  char* const own_part = static_cast<char*>(operation.out.data) + mesh->rank * in.bytes();
  if (in.data != own_part) std::memcpy(own_part, in.data, static_cast<size_t>(in.bytes()));
  WithElement(in.dtype, [&](auto element) {
    gloo::AllgatherOptions options(mesh);
    options.setOutput(Elements<decltype(element)>(operation.out.data), static_cast<size_t>(operation.out.count));
    options.setTag(tag);
    options.setTimeout(timeout);
    gloo::allgather(options);
  });
}

void Barrier(const std::shared_ptr<GlooMesh>& mesh, uint32_t tag, std::chrono::milliseconds timeout) {
  gloo::BarrierOptions options(mesh);
  options.setTag(tag);
  options.setTimeout(timeout);
  gloo::barrier(options);
}

}  // namespace

void ExecuteWithGloo(const std::shared_ptr<GlooMesh>& mesh, const Operation& operation, int64_t collective,
                     std::chrono::milliseconds timeout) {
  const uint32_t tag = TagOf(operation, collective);
  const uint64_t slot = gloo::Slot::build(kMessageSlotPrefix, tag);
  switch (operation.kind) {
    case OperationKind::kAllReduce:
      return operation.out.count == 0 ? Barrier(mesh, tag, timeout) : AllReduce(mesh, operation, tag, timeout);
    case OperationKind::kBroadcast:
      return operation.out.count == 0 ? Barrier(mesh, tag, timeout) : Broadcast(mesh, operation, tag, timeout);
    case OperationKind::kAllGather:
      return operation.out.count == 0 ? Barrier(mesh, tag, timeout) : AllGather(mesh, operation, tag, timeout);
    case OperationKind::kBarrier:
      return Barrier(mesh, tag, timeout);
    case OperationKind::kSend: {
      const auto buffer =
          mesh->createUnboundBuffer(const_cast<void*>(operation.in.data), static_cast<size_t>(operation.in.bytes()));
      buffer->send(operation.peer, slot);
      buffer->waitSend(timeout);
      return;
    }
    case OperationKind::kRecv: {
      const auto buffer = mesh->createUnboundBuffer(operation.out.data, static_cast<size_t>(operation.out.bytes()));
      buffer->recv(operation.peer, slot);
      buffer->waitRecv(timeout);
      return;
    }
  }
}

}  // namespace lockstep
