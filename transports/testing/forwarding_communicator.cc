#include "transports/testing/forwarding_communicator.h"

#include <algorithm>
#include <utility>

#include "absl/status/status_macros.h"
#include "absl/time/clock.h"
#include "absl/types/optional.h"

namespace lockstep {
namespace {

std::vector<int64_t> CountsOf(const Parts& parts, int size) {
  std::vector<int64_t> counts;
  for (int rank = 0; rank < size; ++rank) counts.push_back(parts.count(rank));
  return counts;
}

// Issues `o` on `c`, as its caller did; the forms with counts cover those without.
Work Reissue(Communicator& c, const Operation& o) {
  CallOptions options;
  options.name = o.Name();
  options.premultiplier = o.premultiplier;
  options.timeout = std::max(o.deadline - absl::Now(), absl::Nanoseconds(1));
  const std::vector<int64_t> counts = CountsOf(o.parts, c.size()), in_counts = CountsOf(o.in_parts, c.size());
  switch (o.kind) {
    case OperationKind::kAllReduce:
      return c.AllReduce(o.in, o.out, o.op, options);
    case OperationKind::kReduce:
      return c.Reduce(o.in, o.out, o.op, o.peer, options);
    case OperationKind::kReduceScatter:
      return c.ReduceScatterV(o.in, o.out, counts, o.op, options);
    case OperationKind::kBroadcast:
      return c.Broadcast(o.out, o.peer, options);
    case OperationKind::kAllGather:
      return c.AllGatherV(o.in, o.out, counts, options);
    case OperationKind::kGather:
      return c.GatherV(o.in, o.out, counts, o.peer, options);
    case OperationKind::kScatter:
      return c.ScatterV(o.in, counts, o.out, o.peer, options);
    case OperationKind::kAllToAll:
      return c.AllToAllV(o.in, in_counts, o.out, counts, options);
    case OperationKind::kBarrier:
      return c.Barrier(options);
    case OperationKind::kSend:
      return c.Send(o.in, o.peer, o.tag, options);
    case OperationKind::kRecv:
      return c.Recv(o.out, o.peer, o.tag, options);
  }
  return Work();
}

}  // namespace

ForwardingCommunicator::ForwardingCommunicator(std::unique_ptr<Communicator> inner)
    : HostCommunicator(inner->rank(), inner->size(), absl::Hours(1)), inner_(std::move(inner)) {}

absl::StatusOr<std::unique_ptr<Communicator>> ForwardingCommunicator::Split(int color, int key) {
  ABSL_ASSIGN_OR_RETURN(std::unique_ptr<Communicator> part, inner_->Split(color, key));
  if (part == nullptr) return part;
  return Wrap(std::move(part));
}

absl::StatusOr<std::unique_ptr<Communicator>> ForwardingCommunicator::ConnectMembers(const std::vector<int>&, int64_t, int) {
  return absl::InternalError("Split is the inner communicator's");
}

void ForwardingCommunicator::Start(absl::Span<const Operation> operations) {
  absl::optional<OperationGroup> group;
  if (operations.size() > 1) group.emplace(*inner_);
  for (const Operation& operation : operations) {
    Operation changed = operation;
    BeforeStart(changed);
    const Work work = Reissue(*inner_, changed);
    absl::MutexLock lock(&mu_);
    started_.push_back({work, operation, false});
  }
}

Work ForwardingCommunicator::WorkOf(int64_t sequence) const {
  absl::MutexLock lock(&mu_);
  return started_[static_cast<size_t>(sequence)].work;
}

absl::Status ForwardingCommunicator::WaitForStarted(int64_t sequence) {
  ABSL_RETURN_IF_ERROR(WorkOf(sequence).Wait());
  absl::MutexLock lock(&mu_);
  Started& started = started_[static_cast<size_t>(sequence)];
  if (!std::exchange(started.ended, true)) AfterEnd(started.operation);
  return absl::OkStatus();
}

}  // namespace lockstep
