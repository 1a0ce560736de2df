#include "transports/gloo/direct_reduce.h"

#include <algorithm>
#include <cstring>

#include "absl/container/inlined_vector.h"
#include "transports/gloo/slot.h"
#include "transports/kernels/reduce.h"

namespace lockstep {
namespace {

// A slice is reduced segment by segment while later ones are under way. Memory for them is bounded over all peers. Measured with
// gloo_benchmark: smaller ones cost more wake-ups than they overlap.
constexpr int64_t kSegmentBytes = 2 << 20;
constexpr int64_t kSegmentBytesOfAllPeers = 8 << 20;
// Below this, the second hop costs more than sending every element to every rank.
constexpr int64_t kWholeBytes = 16 << 10;
// Slices begin at multiples of this, so that no two ranks' share a cache line.
constexpr int64_t kSliceAlignment = 64;

constexpr size_t kLikelyRanks = 16;
using Inputs = absl::InlinedVector<const void*, kLikelyRanks>;

Parts SlicesOf(int64_t count, int size, DType dtype) {
  const int64_t multiple = kSliceAlignment / SizeOf(dtype);
  const int64_t each = (count + size - 1) / size;
  return Parts((each + multiple - 1) / multiple * multiple, count);
}

// The operation with its inputs multiplied, so that what is left is a sum. `scaled` holds them where there is no output to.
Operation Premultiplied(const Operation& operation, std::vector<char>& scaled) {
  Operation sum = operation;
  sum.op = ReduceOp::kSum;
  Buffer to = operation.out;
  if (operation.kind != OperationKind::kAllReduce) {
    scaled.resize(static_cast<size_t>(operation.in.bytes()));
    to = Buffer{scaled.data(), operation.in.count, operation.in.dtype, operation.in.device};
  }
  Scale(operation.in, operation.premultiplier, to);
  sum.in = to;
  return sum;
}

}  // namespace

DirectReduce::DirectReduce(GlooMesh& mesh) : mesh_(mesh), segments_(static_cast<size_t>(2 * mesh.size)) {}

void DirectReduce::MakeSegments(int64_t bytes) {
  if (static_cast<int64_t>(segments_[0].memory.size()) >= bytes) return;
  for (Segment& segment : segments_) {
    segment.transfers.reset();
    segment.memory.resize(static_cast<size_t>(bytes));
    segment.transfers = std::make_unique<Transfers>(mesh_, segment.memory.data(), bytes);
  }
}

// Beginning with the next rank, so that not all ranks turn to the same one at once.
template <typename F>
void DirectReduce::ForEachPeer(F f) const {
  for (int i = 1; i < mesh_.size; ++i) f((mesh_.rank + i) % mesh_.size);
}

void DirectReduce::Run(const Operation& operation, uint64_t fingerprint) {
  std::vector<char> scaled;
  if (operation.op == ReduceOp::kPremulSum) return Run(Premultiplied(operation, scaled), fingerprint);
  const bool small = operation.in.bytes() * (mesh_.size - 1) <= kWholeBytes;
  if (small && operation.kind != OperationKind::kReduceScatter) return RunWhole(operation, fingerprint);
  RunSliced(operation, fingerprint);
}

void DirectReduce::RunWhole(const Operation& operation, uint64_t fingerprint) {
  const int me = mesh_.rank;
  const int64_t bytes = operation.in.bytes();
  const uint64_t slot = SlotOf(fingerprint, Phase::kFirst, operation.in.count);
  const bool to_root = operation.kind == OperationKind::kReduce;
  const bool takes = !to_root || operation.peer == me;
  MakeSegments(kWholeBytes);
  // Sent from a copy, since the result may take the input's place before all have been sent.
  Segment& own = At(me, 0);
  std::memcpy(own.memory.data(), operation.in.data, static_cast<size_t>(bytes));
  Inputs inputs(static_cast<size_t>(mesh_.size), own.memory.data());
  ForEachPeer([&](int peer) {
    inputs[static_cast<size_t>(peer)] = At(peer, 0).memory.data();
    if (takes) At(peer, 0).transfers->Recv(peer, slot, 0, bytes);
    if (!to_root || operation.peer == peer) own.transfers->Send(peer, slot, 0, bytes);
  });
  ForEachPeer([&](int peer) { At(peer, 0).transfers->WaitForRecv(operation.deadline); });
  if (takes) Reduce(inputs, operation.op, operation.out);
  own.transfers->WaitForAll(operation.deadline);
}

void DirectReduce::RunSliced(const Operation& operation, uint64_t fingerprint) {
  const int me = mesh_.rank, size = mesh_.size;
  const ConstBuffer& in = operation.in;
  const int64_t element = SizeOf(in.dtype);
  const bool scatters = operation.kind == OperationKind::kReduceScatter;
  const bool to_all = operation.kind == OperationKind::kAllReduce;
  const auto is_given = [&](int rank) { return !scatters && (to_all || operation.peer == rank); };
  const Parts slices = scatters ? operation.parts : SlicesOf(in.count, size, in.dtype);
  const int64_t most = std::max<int64_t>(kSliceAlignment, std::min(kSegmentBytes, kSegmentBytesOfAllPeers / (size - 1)));
  const int64_t step = most / element;
  MakeSegments(std::min(most, slices.count(me) * element));

  // Segment `segment` of the slice of `rank`: its elements, counted from the beginning of the slice.
  const auto count_of = [&](int rank, int64_t segment) {
    return std::max<int64_t>(0, std::min(step, slices.count(rank) - segment * step));
  };
  const auto segments_of = [&](int rank) { return (slices.count(rank) + step - 1) / step; };
  const auto offset_of = [&](int rank, int64_t segment) { return (slices.begin(rank) + segment * step) * element; };
  const auto first = [&](int64_t count) { return SlotOf(fingerprint, Phase::kFirst, count); };
  const auto second = [&](int64_t count) { return SlotOf(fingerprint, Phase::kSecond, count); };

  const auto receive = [&](int64_t segment) {
    const int64_t count = count_of(me, segment);
    if (count == 0) return;
    ForEachPeer([&](int peer) { At(peer, segment).transfers->Recv(peer, first(count), 0, count * element); });
  };
  Transfers inputs_of_others(mesh_, in.data, in.bytes());
  receive(0);
  receive(1);
  ForEachPeer([&](int peer) {
    for (int64_t segment = 0; segment < segments_of(peer); ++segment) {
      const int64_t count = count_of(peer, segment);
      inputs_of_others.Send(peer, first(count), offset_of(peer, segment), count * element);
    }
  });
  // In place, a reduced slice comes back over the input it was made of, which must have been sent for it to exist.
  Transfers results(mesh_, operation.out.data, is_given(me) || scatters ? operation.out.bytes() : 0);
  if (is_given(me)) {
    ForEachPeer([&](int peer) {
      for (int64_t segment = 0; segment < segments_of(peer); ++segment) {
        const int64_t count = count_of(peer, segment);
        results.Recv(peer, second(count), offset_of(peer, segment), count * element);
      }
    });
  }

  Inputs inputs(static_cast<size_t>(size));
  for (int64_t segment = 0; segment < segments_of(me); ++segment) {
    const int64_t count = count_of(me, segment);
    ForEachPeer([&](int peer) {
      At(peer, segment).transfers->WaitForRecv(operation.deadline);
      inputs[static_cast<size_t>(peer)] = At(peer, segment).memory.data();
    });
    inputs[static_cast<size_t>(me)] = static_cast<const char*>(in.data) + offset_of(me, segment);
    // A rank that gets no result reduces into memory of its own, from which it sends.
    Segment& own = At(me, segment);
    const bool keeps = is_given(me) || scatters;
    const int64_t offset = scatters ? segment * step * element : offset_of(me, segment);
    if (!keeps) own.transfers->WaitForSend(operation.deadline);
    void* const to = keeps ? static_cast<char*>(operation.out.data) + offset : own.memory.data();
    Reduce(inputs, operation.op, Buffer{to, count, in.dtype, Device()});
    receive(segment + 2);
    ForEachPeer([&](int peer) {
      if (!is_given(peer)) return;
      Transfers& from = keeps ? results : *own.transfers;
      from.Send(peer, second(count), keeps ? offset : 0, count * element);
    });
  }
  results.WaitForAll(operation.deadline);
  inputs_of_others.WaitForAll(operation.deadline);
  for (int64_t segment = 0; segment < 2; ++segment) At(me, segment).transfers->WaitForAll(operation.deadline);
}

}  // namespace lockstep
