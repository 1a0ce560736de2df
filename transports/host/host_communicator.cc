#include "transports/host/host_communicator.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/status/status_macros.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "transports/host/host_arena.h"
#include "transports/host/operation_check.h"
#include "transports/host/operation_text.h"

namespace lockstep {
namespace {

// Works of refused operations count down from here; -1 is a Work that stands for none.
constexpr int64_t kFirstRefused = -2;

Operation Moving(OperationKind kind, ConstBuffer in, Buffer out) {
  Operation operation;
  operation.kind = kind;
  operation.in = in;
  operation.out = out;
  return operation;
}

}  // namespace

Work HostCommunicator::AllReduce(ConstBuffer in, Buffer out, ReduceOp op, const CallOptions& options) {
  Operation operation = Moving(OperationKind::kAllReduce, in, out);
  operation.op = op;
  return Issue(operation, options);
}

Work HostCommunicator::Reduce(ConstBuffer in, Buffer out, ReduceOp op, int root, const CallOptions& options) {
  Operation operation = Moving(OperationKind::kReduce, in, out);
  operation.op = op;
  operation.peer = root;
  return Issue(operation, options);
}

Work HostCommunicator::ReduceScatter(ConstBuffer in, Buffer out, ReduceOp op, const CallOptions& options) {
  Operation operation = Moving(OperationKind::kReduceScatter, in, out);
  operation.op = op;
  operation.parts = Parts(out.count);
  return Issue(operation, options);
}

Work HostCommunicator::ReduceScatterV(ConstBuffer in, Buffer out, absl::Span<const int64_t> counts, ReduceOp op,
                                      const CallOptions& options) {
  Operation operation = Moving(OperationKind::kReduceScatter, in, out);
  operation.op = op;
  operation.parts = Parts(counts);
  return Issue(operation, options, CheckCounts("counts", counts, size_));
}

Work HostCommunicator::Broadcast(Buffer inout, int root, const CallOptions& options) {
  Operation operation = Moving(OperationKind::kBroadcast, inout, inout);
  operation.peer = root;
  return Issue(operation, options);
}

Work HostCommunicator::AllGather(ConstBuffer in, Buffer out, const CallOptions& options) {
  Operation operation = Moving(OperationKind::kAllGather, in, out);
  operation.parts = Parts(in.count);
  return Issue(operation, options);
}

Work HostCommunicator::AllGatherV(ConstBuffer in, Buffer out, absl::Span<const int64_t> counts, const CallOptions& options) {
  Operation operation = Moving(OperationKind::kAllGather, in, out);
  operation.parts = Parts(counts);
  return Issue(operation, options, CheckCounts("counts", counts, size_));
}

Work HostCommunicator::Gather(ConstBuffer in, Buffer out, int root, const CallOptions& options) {
  Operation operation = Moving(OperationKind::kGather, in, out);
  operation.peer = root;
  operation.parts = Parts(in.count);
  return Issue(operation, options);
}

Work HostCommunicator::GatherV(ConstBuffer in, Buffer out, absl::Span<const int64_t> counts, int root,
                               const CallOptions& options) {
  if (root != rank_) return Gather(in, out, root, options);
  Operation operation = Moving(OperationKind::kGather, in, out);
  operation.peer = root;
  operation.parts = Parts(counts);
  return Issue(operation, options, CheckCounts("counts", counts, size_));
}

Work HostCommunicator::Scatter(ConstBuffer in, Buffer out, int root, const CallOptions& options) {
  Operation operation = Moving(OperationKind::kScatter, in, out);
  operation.peer = root;
  operation.parts = Parts(out.count);
  return Issue(operation, options);
}

Work HostCommunicator::ScatterV(ConstBuffer in, absl::Span<const int64_t> counts, Buffer out, int root,
                                const CallOptions& options) {
  if (root != rank_) return Scatter(in, out, root, options);
  Operation operation = Moving(OperationKind::kScatter, in, out);
  operation.peer = root;
  operation.parts = Parts(counts);
  return Issue(operation, options, CheckCounts("counts", counts, size_));
}

Work HostCommunicator::AllToAll(ConstBuffer in, Buffer out, const CallOptions& options) {
  Operation operation = Moving(OperationKind::kAllToAll, in, out);
  operation.in_parts = Parts(in.count / size_);
  operation.parts = operation.in_parts;
  return Issue(operation, options);
}

Work HostCommunicator::AllToAllV(ConstBuffer in, absl::Span<const int64_t> in_counts, Buffer out,
                                 absl::Span<const int64_t> out_counts, const CallOptions& options) {
  Operation operation = Moving(OperationKind::kAllToAll, in, out);
  operation.in_parts = Parts(in_counts);
  operation.parts = Parts(out_counts);
  absl::Status counts = CheckCounts("in_counts", in_counts, size_);
  counts.Update(CheckCounts("out_counts", out_counts, size_));
  return Issue(operation, options, counts);
}

Work HostCommunicator::Barrier(const CallOptions& options) {
  Operation operation;
  return Issue(operation, options);
}

Work HostCommunicator::Send(ConstBuffer in, int to, int tag, const CallOptions& options) {
  Operation operation = Moving(OperationKind::kSend, in, Buffer());
  operation.peer = to;
  operation.tag = tag;
  return Issue(operation, options);
}

Work HostCommunicator::Recv(Buffer out, int from, int tag, const CallOptions& options) {
  Operation operation = Moving(OperationKind::kRecv, ConstBuffer(), out);
  operation.peer = from;
  operation.tag = tag;
  return Issue(operation, options);
}

Work HostCommunicator::Issue(Operation& operation, const CallOptions& options, const absl::Status& counts) {
  operation.SetName(options.name);
  operation.premultiplier = options.premultiplier;
  if (!counts.ok()) {
    operation.parts = operation.in_parts = Parts();  // as wrong as they are, they cannot be described
    return Refuse(operation, counts);
  }
  if (options.timeout < absl::ZeroDuration()) {
    return Refuse(operation, absl::InvalidArgumentError(absl::StrCat("the timeout ", absl::FormatDuration(options.timeout),
                                                                     " is negative; 0 means the communicator's own")));
  }
  if (absl::Status status = CheckOperation(operation, rank_, size_); !status.ok()) return Refuse(operation, status);
  const absl::Duration timeout = options.timeout == absl::ZeroDuration() ? timeout_ : options.timeout;
  operation.deadline = absl::Now() + timeout;
  const int64_t sequence = started_.load(std::memory_order_relaxed) + static_cast<int64_t>(group_.size());
  if (group_depth_ == 0) {
    started_.store(sequence + 1, std::memory_order_relaxed);
    Start(absl::MakeConstSpan(&operation, 1));
  } else if (group_.size() < kLargestGroup) {
    group_.push_back(operation);
  } else {
    return Refuse(operation, absl::InvalidArgumentError(
                                 absl::StrCat("its group has ", kLargestGroup, " operations already; make several groups")));
  }
  return Work(this, sequence);
}

void HostCommunicator::EndGroup() {
  if (--group_depth_ > 0 || group_.empty()) return;
  const int size = static_cast<int>(group_.size());
  for (int i = 0; i < size; ++i) {
    group_[static_cast<size_t>(i)].in_group = size;
    group_[static_cast<size_t>(i)].group_left = size - 1 - i;
  }
  started_.store(started_.load(std::memory_order_relaxed) + size, std::memory_order_relaxed);
  Start(group_);
  group_.clear();
}

Work HostCommunicator::Refuse(const Operation& operation, const absl::Status& why) {
  absl::Status failed = health();
  absl::MutexLock lock(&mu_);
  refusals_[refused_ % kRemembered] =
      !failed.ok() ? std::move(failed)
                   : absl::Status(why.code(), absl::StrCat("rank ", rank_, ": ", DescribeOperation(operation, rank_, size_),
                                                           ": ", why.message()));
  return Work(this, kFirstRefused - refused_++);
}

absl::Status HostCommunicator::WaitFor(int64_t sequence) {
  if (sequence >= started_.load(std::memory_order_relaxed)) {
    return absl::FailedPreconditionError(absl::StrCat(
        "rank ", rank_, ": Wait on an operation of a group that has not ended; wait after the OperationGroup has gone"));
  }
  if (sequence > kFirstRefused) return WaitForStarted(sequence);
  absl::MutexLock lock(&mu_);
  const int64_t number = kFirstRefused - sequence;
  return refused_ - number > kRemembered ? absl::OkStatus() : refusals_[number % kRemembered];
}

bool HostCommunicator::IsDone(int64_t sequence) const {
  return sequence <= kFirstRefused || (sequence < started_.load(std::memory_order_relaxed) && IsStartedDone(sequence));
}

int HostCommunicator::SourceOf(int64_t sequence) const { return sequence <= kFirstRefused ? -1 : SourceOfStarted(sequence); }

absl::StatusOr<std::unique_ptr<Communicator>> HostCommunicator::Split(int color, int key) {
  std::vector<int32_t> all(2 * static_cast<size_t>(size_));
  const std::array<int32_t, 2> mine = {color, key};
  const int64_t split = splits_++;
  ABSL_RETURN_IF_ERROR(
      AllGather(MakeConstBuffer(absl::MakeConstSpan(mine)), MakeBuffer(absl::MakeSpan(all)), {.name = "split"}).Wait());
  if (color < 0) return nullptr;
  std::vector<int> members;
  for (int rank = 0; rank < size_; ++rank) {
    if (all[2 * rank] == color) members.push_back(rank);
  }
  std::stable_sort(members.begin(), members.end(), [&](int a, int b) { return all[2 * a + 1] < all[2 * b + 1]; });
  return ConnectMembers(members, split, color);
}

void HostCommunicator::Abort(absl::Status why) {
  Fail(why.ok() ? absl::InternalError(absl::StrCat("rank ", rank_, ": Abort was called with OK; it takes an error")) : why);
}

absl::StatusOr<Arena> HostCommunicator::CreateArena(int64_t bytes) {
  std::vector<int64_t> all(static_cast<size_t>(size_));
  ABSL_RETURN_IF_ERROR(AllGather(MakeConstBuffer(absl::Span<const int64_t>(&bytes, 1)), MakeBuffer(absl::MakeSpan(all)),
                                 {.name = "arena size"})
                           .Wait());
  for (int rank = 0; rank < size_; ++rank) {
    if (all[rank] == all[0]) continue;
    const absl::Status differ = absl::FailedPreconditionError(
        absl::StrCat("rank ", rank_, ": create arena: rank 0 asks for ", all[0], " bytes, rank ", rank, " for ", all[rank],
                     "; all ranks must ask for the same"));
    Abort(differ);
    return differ;
  }
  absl::StatusOr<Arena> arena = AllocateHostArena(bytes);
  if (arena.ok()) return arena;
  const absl::Status why(arena.status().code(), absl::StrCat("rank ", rank_, ": create arena: ", arena.status().message()));
  if (absl::IsResourceExhausted(why)) Abort(why);  // peers may have theirs, and would wait for this rank
  return why;
}

}  // namespace lockstep
