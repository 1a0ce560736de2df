#include "ddp/distributed_data_parallel.h"

#include <utility>

#include "absl/log/log.h"
#include "absl/status/status_macros.h"
#include "ddp/reducer.h"

namespace lockstep {

DdpStep::DdpStep(DdpStep&& other) noexcept
    : reducer_(std::exchange(other.reducer_, nullptr)), begun_(std::move(other.begun_)) {}

DdpStep::~DdpStep() {
  if (reducer_ == nullptr || !begun_.ok()) return;
  LOG(ERROR) << "ddp: a step was left without Finish, so its gradients are not averaged; the engine of this rank is closed";
  reducer_->Abandon();
}

absl::Status DdpStep::Finish() {
  Reducer* const reducer = std::exchange(reducer_, nullptr);
  if (reducer == nullptr) return absl::FailedPreconditionError("ddp: Finish was called on a step that is finished already");
  return begun_.ok() ? reducer->Finish() : begun_;
}

absl::StatusOr<DistributedDataParallel> DistributedDataParallel::Create(std::shared_ptr<ProcessGroup> group, Model& model,
                                                                        const DdpOptions& options) {
  if (group == nullptr) return absl::InvalidArgumentError("ddp: Create needs a process group; see InitProcessGroup");
  ABSL_ASSIGN_OR_RETURN(std::unique_ptr<Communicator> communicator, group->NewCommunicator());
  ABSL_ASSIGN_OR_RETURN(std::unique_ptr<Reducer> reducer,
                        Reducer::Create(std::move(communicator), model, options, group->info().host));
  return DistributedDataParallel(std::move(group), std::move(reducer));
}

DistributedDataParallel::DistributedDataParallel(std::shared_ptr<ProcessGroup> group, std::unique_ptr<Reducer> reducer)
    : group_(std::move(group)), reducer_(std::move(reducer)) {}
DistributedDataParallel::DistributedDataParallel(DistributedDataParallel&&) noexcept = default;
DistributedDataParallel& DistributedDataParallel::operator=(DistributedDataParallel&& other) noexcept {
  std::swap(group_, other.group_);
  std::swap(reducer_, other.reducer_);
  return *this;
}
DistributedDataParallel::~DistributedDataParallel() = default;

DdpStep DistributedDataParallel::BeginStep(const StepOptions& options) {
  return DdpStep(reducer_.get(), reducer_->Begin(options));
}

Model& DistributedDataParallel::model() const { return reducer_->model(); }
DdpStats DistributedDataParallel::stats() const { return reducer_->stats(); }
std::string DistributedDataParallel::DescribeBuckets() const { return reducer_->DescribeBuckets(); }

}  // namespace lockstep
