#include "transports/gloo/gloo_execute.h"

#include <deque>

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

// Starts a message's end.
void StartMessage(const Operation& operation, uint64_t fingerprint, Transfers& memory) {
  const bool sends = operation.kind == OperationKind::kSend;
  const int64_t count = sends ? operation.in.count : operation.out.count;
  const int64_t bytes = sends ? operation.in.bytes() : operation.out.bytes();
  const uint64_t slot = SlotOf(fingerprint, Phase::kFirst, count);
  if (sends) {
    memory.Send(operation.peer, slot, 0, bytes);
  } else if (operation.peer == kAnyRank) {
    memory.RecvFromAny(slot, bytes);
  } else {
    memory.Recv(operation.peer, slot, 0, bytes);
  }
}

}  // namespace

void GlooExecutor::Execute(absl::Span<const Operation* const> operations, Position& position, absl::Span<int> sources) {
  mesh_.StartOperation();
  std::deque<Transfers> messages;  // in the order of the operations that are messages
  for (const Operation* operation : operations) {
    if (IsCollective(operation->kind)) continue;
    const bool sends = operation->kind == OperationKind::kSend;
    const ConstBuffer memory = sends ? operation->in : ConstBuffer(operation->out);
    messages.emplace_back(mesh_, memory.data, memory.bytes());
    StartMessage(*operation, FingerprintOf(*operation, 0, mesh_.size), messages.back());
  }
  for (const bool collectives : {true, false}) {
    auto message = messages.begin();
    for (position.at = 0; position.at < operations.size(); ++position.at) {
      const Operation& operation = *operations[position.at];
      if (IsCollective(operation.kind) != collectives) continue;
      const StallCheck::During during(stall_check_, operation, position.collective);
      if (collectives) {
        ExecuteCollective(operation, position.collective);
        ++position.collective;
      } else {
        sources[position.at] = message->WaitForRecv(operation.deadline);
        message->WaitForAll(operation.deadline);
        ++message;
      }
    }
  }
}

void GlooExecutor::ExecuteCollective(const Operation& operation, int64_t collective) {
  if (mesh_.size == 1) return ExecuteShared(1, [&operation](int) -> const Operation& { return operation; });
  const uint64_t fingerprint = FingerprintOf(operation, collective, mesh_.size);
  if (MovesNothing(operation, mesh_.size)) {
    MeetAll(mesh_, fingerprint, operation.deadline);
  } else if (Reduces(operation.kind)) {
    reduce_.Run(operation, fingerprint);
  } else {
    ExchangeElements(mesh_, operation, fingerprint);
  }
}

}  // namespace lockstep
