#include "ddp/solo_communicator.h"

#include <cstring>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "transports/host/host_arena.h"
#include "transports/kernels/reduce.h"

namespace lockstep {
namespace {

std::string Describe(const Operation& operation, const ConstBuffer& buffer) {
  const absl::string_view name = operation.name.data();
  return absl::StrCat(OperationKindName(operation.kind), name.empty() ? "" : absl::StrCat(" \"", name, "\""), " (op ",
                      operation.sequence, ", ", DescribeBuffer(buffer), ")");
}

Operation MakeOperation(OperationKind kind, const ConstBuffer& in, const Buffer& out, int peer = -1, int tag = 0) {
  Operation operation;
  operation.kind = kind;
  operation.in = in;
  operation.out = out;
  operation.peer = peer;
  operation.tag = tag;
  return operation;
}

// Every reduction of one rank's elements, but the premultiplied, gives those elements; so does a gather of them.
void Execute(const Operation& operation) {
  const ConstBuffer& in = operation.in;
  if (operation.kind == OperationKind::kAllReduce && operation.op == ReduceOp::kPremulSum) {
    return Scale(in, operation.out, operation.premultiplier);
  }
  if (in.data != operation.out.data && in.count > 0)
    std::memcpy(operation.out.data, in.data, static_cast<size_t>(in.bytes()));
}

}  // namespace

Work SoloCommunicator::AllReduce(ConstBuffer in, Buffer out, ReduceOp op, const CallOptions& options) {
  Operation operation = MakeOperation(OperationKind::kAllReduce, in, out);
  operation.op = op;
  operation.premultiplier = options.premultiplier;
  return Run(operation, in, options);
}

Work SoloCommunicator::Broadcast(Buffer inout, int root, const CallOptions& options) {
  return Run(MakeOperation(OperationKind::kBroadcast, inout, inout, root), inout, options);
}

Work SoloCommunicator::AllGather(ConstBuffer in, Buffer out, const CallOptions& options) {
  return Run(MakeOperation(OperationKind::kAllGather, in, out), in, options);
}

Work SoloCommunicator::Barrier(const CallOptions& options) {
  return Run(MakeOperation(OperationKind::kBarrier, {}, {}), ConstBuffer(nullptr, 0, DType::kU8), options);
}

Work SoloCommunicator::Send(ConstBuffer in, int to, int tag, const CallOptions& options) {
  return Run(MakeOperation(OperationKind::kSend, in, {}, to, tag), in, options);
}

Work SoloCommunicator::Recv(Buffer out, int from, int tag, const CallOptions& options) {
  return Run(MakeOperation(OperationKind::kRecv, {}, out, from, tag), out, options);
}

absl::StatusOr<std::unique_ptr<Communicator>> SoloCommunicator::Split(int color, int /*key*/) {
  if (absl::Status failed = health(); !failed.ok()) return failed;
  return color < 0 ? nullptr : std::make_unique<SoloCommunicator>();
}

absl::StatusOr<Arena> SoloCommunicator::CreateArena(int64_t bytes) {
  if (absl::Status failed = health(); !failed.ok()) return failed;
  return AllocateHostArena(bytes);
}

void SoloCommunicator::Abort(absl::Status why) {
  absl::MutexLock lock(&mu_);
  if (!aborted_.ok()) return;
  aborted_ = std::move(why);
  aborted_from_ = next_sequence_;
}

absl::Status SoloCommunicator::health() const {
  absl::MutexLock lock(&mu_);
  return aborted_;
}

absl::Status SoloCommunicator::WaitFor(int64_t sequence) {
  absl::MutexLock lock(&mu_);
  if (!aborted_.ok() && sequence >= aborted_from_) return aborted_;
  for (const Refusal& refusal : refusals_) {
    if (refusal.sequence == sequence) return refusal.status;
  }
  return absl::OkStatus();
}

Work SoloCommunicator::Run(Operation operation, const ConstBuffer& described, const CallOptions& options) {
  absl::MutexLock lock(&mu_);
  operation.sequence = next_sequence_++;
  operation.SetName(options.name);
  const Work work(this, operation.sequence);
  if (!aborted_.ok()) return work;
  if (const absl::Status status = CheckOperation(operation, rank(), size()); !status.ok()) {
    refusals_[next_refusal_] = {operation.sequence, absl::Status(status.code(), absl::StrCat(Describe(operation, described),
                                                                                             ": ", status.message()))};
    next_refusal_ = (next_refusal_ + 1) % kRemembered;
  } else {
    Execute(operation);
  }
  return work;
}

}  // namespace lockstep
