#include "transports/gloo/slot.h"

#include "absl/strings/string_view.h"

namespace lockstep {
namespace {

// The upper byte, so that no slot is one of Gloo's own collectives', whose prefixes are 1 to 8 (gloo/types.h), or the probe's.
constexpr uint64_t kPrefix = uint64_t{0x40} << 56;
constexpr uint64_t kHashBits = (uint64_t{1} << 56) - 1;

// The finalizer of MurmurHash3 (Appleby, public domain), applied after each word is mixed in.
uint64_t Mix(uint64_t hash, uint64_t word) {
  hash ^= word;
  hash = (hash ^ (hash >> 33)) * 0xff51afd7ed558ccd;
  hash = (hash ^ (hash >> 33)) * 0xc4ceb9fe1a85ec53;
  return hash ^ (hash >> 33);
}

uint64_t Mix(uint64_t hash, int64_t word) { return Mix(hash, static_cast<uint64_t>(word)); }

uint64_t MixName(uint64_t hash, absl::string_view name) {
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return Mix(hash, static_cast<uint64_t>(name.size()));
}

uint64_t MixCounts(uint64_t hash, const Operation& operation, int64_t size) {
  switch (operation.kind) {
    case OperationKind::kAllReduce:
    case OperationKind::kReduce:
      return Mix(hash, operation.in.count);
    case OperationKind::kBroadcast:
      return Mix(hash, operation.out.count);
    case OperationKind::kAllGather:
    case OperationKind::kReduceScatter:
      for (int64_t rank = 0; rank < size; ++rank) hash = Mix(hash, operation.parts.count(static_cast<int>(rank)));
      return hash;
    default:
      return hash;  // each pair of ranks knows its own, which SlotOf adds
  }
}

}  // namespace

uint64_t FingerprintOf(const Operation& operation, int64_t collective, int size) {
  uint64_t hash = Mix(0, static_cast<uint64_t>(DTypeOf(operation)));
  if (!IsCollective(operation.kind)) return Mix(Mix(hash, uint64_t{0xff}), int64_t{operation.tag});
  hash = Mix(hash, static_cast<uint64_t>(operation.kind));
  if (operation.kind == OperationKind::kBarrier) hash = Mix(0, static_cast<uint64_t>(operation.kind));
  if (Reduces(operation.kind)) hash = Mix(hash, static_cast<uint64_t>(operation.op));
  if (HasRoot(operation.kind)) hash = Mix(hash, int64_t{operation.peer});
  return MixName(Mix(MixCounts(hash, operation, size), collective), operation.Name());
}

uint64_t SlotOf(uint64_t fingerprint, Phase phase, int64_t count) {
  return kPrefix | (Mix(Mix(fingerprint, static_cast<uint64_t>(phase)), count) & kHashBits);
}

}  // namespace lockstep
