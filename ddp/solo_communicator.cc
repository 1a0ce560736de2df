#include "ddp/solo_communicator.h"

#include <cstddef>
#include <cstring>

#include "transports/kernels/reduce.h"

namespace lockstep {
namespace {

// Every reduction of one rank's elements, but the premultiplied, gives those elements; so does a gather of them.
void Execute(const Operation& operation) {
  const ConstBuffer& in = operation.in;
  if (operation.kind == OperationKind::kAllReduce && operation.op == ReduceOp::kPremulSum) {
    return Scale(in, operation.out, operation.premultiplier);
  }
  if (in.data != operation.out.data && in.count > 0) {
    std::memcpy(operation.out.data, in.data, static_cast<size_t>(in.bytes()));
  }
}

}  // namespace

void SoloCommunicator::Fail(const absl::Status& why) {
  absl::MutexLock lock(&mu_);
  if (!failure_.ok()) return;
  failure_ = why;
  failed_from_ = started_;
}

absl::Status SoloCommunicator::health() const {
  absl::MutexLock lock(&mu_);
  return failure_;
}

int64_t SoloCommunicator::Start(const Operation& operation) {
  absl::MutexLock lock(&mu_);
  if (failure_.ok()) Execute(operation);
  return started_++;
}

absl::Status SoloCommunicator::WaitForStarted(int64_t sequence) {
  absl::MutexLock lock(&mu_);
  return sequence < failed_from_ ? absl::OkStatus() : failure_;
}

absl::StatusOr<std::unique_ptr<Communicator>> SoloCommunicator::ConnectMembers(const std::vector<int>&, int64_t, int) {
  return std::make_unique<SoloCommunicator>();
}

}  // namespace lockstep
