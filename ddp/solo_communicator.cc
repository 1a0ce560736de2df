#include "ddp/solo_communicator.h"

#include "transports/host/shared_execute.h"

namespace lockstep {

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

void SoloCommunicator::Start(absl::Span<const Operation> operations) {
  absl::MutexLock lock(&mu_);
  for (const Operation& operation : operations) {
    if (failure_.ok()) ExecuteShared(1, [&operation](int) -> const Operation& { return operation; });
    ++started_;
  }
}

absl::Status SoloCommunicator::WaitForStarted(int64_t sequence) {
  absl::MutexLock lock(&mu_);
  return sequence < failed_from_ ? absl::OkStatus() : failure_;
}

absl::StatusOr<std::unique_ptr<Communicator>> SoloCommunicator::ConnectMembers(const std::vector<int>&, int64_t, int) {
  return std::make_unique<SoloCommunicator>();
}

}  // namespace lockstep
