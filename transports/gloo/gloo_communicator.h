// A communicator over a GlooMesh; for GlooTransport alone.
#ifndef LOCKSTEP_TRANSPORTS_GLOO_GLOO_COMMUNICATOR_H_
#define LOCKSTEP_TRANSPORTS_GLOO_GLOO_COMMUNICATOR_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "transports/gloo/gloo_execute.h"
#include "transports/gloo/gloo_mesh.h"
#include "transports/gloo/stall_check.h"
#include "transports/gloo/watch_thread.h"
#include "transports/host/host_communicator.h"
#include "transports/host/operation_queue.h"
#include "transports/store/store.h"

namespace lockstep {

class GlooCommunicator final : public HostCommunicator, private OperationQueue::Executor {
 public:
  static absl::StatusOr<std::unique_ptr<Communicator>> Connect(std::shared_ptr<Store> store, GlooDevice device, int rank,
                                                               int size, absl::Duration timeout);

  void Progress() override {}
  absl::Status health() const override { return queue_.health(); }

 private:
  GlooCommunicator(std::shared_ptr<Store> store, GlooDevice device, std::shared_ptr<GlooMesh> mesh, absl::Duration timeout);

  void Start(absl::Span<const Operation> operations) override { queue_.Push(operations); }
  void Fail(const absl::Status& why) override { queue_.Abort(why); }
  absl::Status WaitForStarted(int64_t sequence) override { return queue_.Wait(sequence); }
  bool IsStartedDone(int64_t sequence) const override { return queue_.Done(sequence); }
  int SourceOfStarted(int64_t sequence) const override { return queue_.Source(sequence); }
  absl::StatusOr<std::unique_ptr<Communicator>> ConnectMembers(const std::vector<int>& members, int64_t split,
                                                               int color) override;

  absl::Status Execute(absl::Span<const Operation* const> operations, absl::Span<int> sources) override;
  void Interrupt() override;
  void GiveUp(const absl::Status& why) override;
  // By the process' watch thread, now and then.
  void Look();
  void LookForBrokenConnections();
  void LookForStall();
  // Tells peers why this rank gives up, and in what.
  absl::Status Record(const absl::Status& why, const Operation* operation);

  const std::shared_ptr<Store> store_;
  const GlooDevice device_;
  const std::shared_ptr<GlooMesh> mesh_;
  StallCheck stall_check_;
  GlooExecutor executor_;                 // by the queue's thread alone
  int64_t collectives_ = 0;               // run so far; by the queue's thread alone
  bool recorded_ = false;                 // the store knows why this rank gave up; by the queue's thread alone
  std::atomic<bool> is_mismatch_{false};  // why this rank was aborted
  std::atomic<int64_t> running_{0};       // 1 more than the sequence number of the operation in progress; 0: none
  // Under which operation Look saw a broken connection, and how many bytes had moved then; by the watch thread alone.
  int64_t broken_under_ = 0, moved_ = 0;
  OperationQueue queue_;  // its thread uses all of the above
  Watched watched_;       // last: its looks do, too
};

}  // namespace lockstep

#endif  // LOCKSTEP_TRANSPORTS_GLOO_GLOO_COMMUNICATOR_H_
