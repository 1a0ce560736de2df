#include "transports/gloo/gloo_execute.h"

#include "transports/gloo/exchange.h"
#include "transports/gloo/slot.h"
#include "transports/gloo/transfers.h"
#include "transports/host/shared_execute.h"

namespace lockstep {
namespace {

// Whether all ranks know that a collective moves nothing. It then waits for all, as it would with something to move.
bool MovesNothing(const Operation& operation, int size) {
  switch (operation.kind) {
    case OperationKind::kAllReduce:
    case OperationKind::kReduce:
      return operation.in.count == 0;
    case OperationKind::kBroadcast:
      return operation.out.count == 0;
    case OperationKind::kReduceScatter:
      return operation.parts.begin(size) == 0;
    case OperationKind::kBarrier:
      return true;
    default:
      return false;
  }
}

void Send(GlooMesh& mesh, const Operation& operation, uint64_t fingerprint) {
  Transfers message(mesh, operation.in.data, operation.in.bytes());
  message.Send(operation.peer, SlotOf(fingerprint, Phase::kFirst, operation.in.count), 0, operation.in.bytes());
  message.WaitForSend(operation.deadline);
}

int Recv(GlooMesh& mesh, const Operation& operation, uint64_t fingerprint) {
  Transfers message(mesh, operation.out.data, operation.out.bytes());
  const uint64_t slot = SlotOf(fingerprint, Phase::kFirst, operation.out.count);
  if (operation.peer == kAnyRank) {
    message.RecvFromAny(slot, operation.out.bytes());
  } else {
    message.Recv(operation.peer, slot, 0, operation.out.bytes());
  }
  return message.WaitForRecv(operation.deadline);
}

}  // namespace

void GlooExecutor::Execute(const Operation& operation, int64_t collective, int& source) {
  if (mesh_.size == 1) return ExecuteShared(1, [&operation](int) -> const Operation& { return operation; });
  const uint64_t fingerprint = FingerprintOf(operation, collective, mesh_.size);
  if (operation.kind == OperationKind::kSend) return Send(mesh_, operation, fingerprint);
  if (operation.kind == OperationKind::kRecv) {
    source = Recv(mesh_, operation, fingerprint);
  } else if (MovesNothing(operation, mesh_.size)) {
    MeetAll(mesh_, fingerprint, operation.deadline);
  } else if (Reduces(operation.kind)) {
    reduce_.Run(operation, fingerprint);
  } else {
    ExchangeElements(mesh_, operation, fingerprint);
  }
}

}  // namespace lockstep
