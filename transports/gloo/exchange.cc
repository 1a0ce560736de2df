#include "transports/gloo/exchange.h"

#include <algorithm>
#include <deque>

#include "absl/functional/function_ref.h"
#include "transports/gloo/slot.h"
#include "transports/gloo/transfers.h"
#include "transports/host/shared_execute.h"

namespace lockstep {
namespace {

// From here on a broadcast goes in slices, which their receivers hand on: the root then sends each element once, not N-1 times.
constexpr int64_t kSlicedBroadcastBytes = 256 << 10;

// Transfers started one after the other and waited for together; what is under way when it is destroyed is cancelled.
class Exchange {
 public:
  Exchange(GlooMesh& mesh, uint64_t fingerprint) : mesh_(mesh), fingerprint_(fingerprint) {}

  void Send(int to, const ConstBuffer& elements, Phase phase = Phase::kFirst) {
    transfers_.emplace_back(mesh_, elements.data, elements.bytes());
    transfers_.back().Send(to, SlotOf(fingerprint_, phase, elements.count), 0, elements.bytes());
  }
  void Recv(int from, const Buffer& elements, Phase phase = Phase::kFirst) {
    transfers_.emplace_back(mesh_, elements.data, elements.bytes());
    transfers_.back().Recv(from, SlotOf(fingerprint_, phase, elements.count), 0, elements.bytes());
  }
  void Wait(absl::Time deadline) {
    for (Transfers& transfers : transfers_) transfers.WaitForAll(deadline);
  }

 private:
  GlooMesh& mesh_;
  const uint64_t fingerprint_;
  std::deque<Transfers> transfers_;
};

void ForEachPeer(const GlooMesh& mesh, absl::FunctionRef<void(int peer)> f) {
  for (int i = 1; i < mesh.size; ++i) f((mesh.rank + i) % mesh.size);
}

void AllGather(GlooMesh& mesh, const Operation& operation, Exchange& exchange) {
  ForEachPeer(mesh, [&](int peer) {
    exchange.Recv(peer, PartOf(operation.out, operation.parts, peer));
    exchange.Send(peer, operation.in);
  });
  CopyElements(operation.in, PartOf(operation.out, operation.parts, mesh.rank));
}

void Gather(GlooMesh& mesh, const Operation& operation, Exchange& exchange) {
  if (operation.peer != mesh.rank) return exchange.Send(operation.peer, operation.in);
  ForEachPeer(mesh, [&](int peer) { exchange.Recv(peer, PartOf(operation.out, operation.parts, peer)); });
  CopyElements(operation.in, PartOf(operation.out, operation.parts, mesh.rank));
}

void Scatter(GlooMesh& mesh, const Operation& operation, Exchange& exchange) {
  if (operation.peer != mesh.rank) return exchange.Recv(operation.peer, operation.out);
  ForEachPeer(mesh, [&](int peer) { exchange.Send(peer, PartOf(operation.in, operation.parts, peer)); });
  CopyElements(PartOf(operation.in, operation.parts, mesh.rank), operation.out);
}

void AllToAll(GlooMesh& mesh, const Operation& operation, Exchange& exchange) {
  ForEachPeer(mesh, [&](int peer) {
    exchange.Recv(peer, PartOf(operation.out, operation.parts, peer));
    exchange.Send(peer, PartOf(operation.in, operation.in_parts, peer));
  });
  CopyElements(PartOf(operation.in, operation.in_parts, mesh.rank), PartOf(operation.out, operation.parts, mesh.rank));
}

void Broadcast(GlooMesh& mesh, const Operation& operation, Exchange& exchange) {
  if (operation.peer != mesh.rank) return exchange.Recv(operation.peer, operation.out);
  ForEachPeer(mesh, [&](int peer) { exchange.Send(peer, operation.in); });
}

// The root gives each rank a slice, and to all its own; each hands what it got on to the others.
void BroadcastInSlices(GlooMesh& mesh, const Operation& operation, uint64_t fingerprint, Exchange& exchange) {
  const int root = operation.peer;
  const Parts slices((operation.out.count + mesh.size - 1) / mesh.size, operation.out.count);
  const auto slice = [&](int rank) { return PartOf(operation.out, slices, rank); };
  if (mesh.rank == root) {
    return ForEachPeer(mesh, [&](int peer) {
      exchange.Send(peer, slice(peer));
      exchange.Send(peer, slice(root), Phase::kSecond);
    });
  }
  Exchange own(mesh, fingerprint);
  own.Recv(root, slice(mesh.rank));
  ForEachPeer(mesh, [&](int peer) { exchange.Recv(peer, slice(peer), Phase::kSecond); });
  own.Wait(operation.deadline);
  ForEachPeer(mesh, [&](int peer) {
    if (peer != root) exchange.Send(peer, slice(mesh.rank), Phase::kSecond);
  });
}

}  // namespace

void ExchangeElements(GlooMesh& mesh, const Operation& operation, uint64_t fingerprint) {
  Exchange exchange(mesh, fingerprint);
  switch (operation.kind) {
    case OperationKind::kBroadcast:
      if (mesh.size > 2 && operation.out.bytes() >= kSlicedBroadcastBytes) {
        BroadcastInSlices(mesh, operation, fingerprint, exchange);
      } else {
        Broadcast(mesh, operation, exchange);
      }
      break;
    case OperationKind::kAllGather:
      AllGather(mesh, operation, exchange);
      break;
    case OperationKind::kGather:
      Gather(mesh, operation, exchange);
      break;
    case OperationKind::kScatter:
      Scatter(mesh, operation, exchange);
      break;
    case OperationKind::kAllToAll:
      AllToAll(mesh, operation, exchange);
      break;
    default:
      break;
  }
  exchange.Wait(operation.deadline);
}

void MeetAll(GlooMesh& mesh, uint64_t fingerprint, absl::Time deadline) {
  Exchange exchange(mesh, fingerprint);
  ForEachPeer(mesh, [&](int peer) {
    exchange.Recv(peer, Buffer());
    exchange.Send(peer, ConstBuffer());
  });
  exchange.Wait(deadline);
}

}  // namespace lockstep
