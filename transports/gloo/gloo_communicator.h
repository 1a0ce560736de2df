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
#include "transports/gloo/gloo_execute.h"
#include "transports/gloo/gloo_mesh.h"
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

  int64_t Start(const Operation& operation) override { return queue_.Push(operation); }
  void Fail(const absl::Status& why) override { queue_.Abort(why); }
  absl::Status WaitForStarted(int64_t sequence) override { return queue_.Wait(sequence); }
  bool IsStartedDone(int64_t sequence) const override { return queue_.Done(sequence); }
  int SourceOfStarted(int64_t sequence) const override { return queue_.Source(sequence); }
  absl::StatusOr<std::unique_ptr<Communicator>> ConnectMembers(const std::vector<int>& members, int64_t split,
                                                               int color) override;

  absl::Status Execute(const Operation& operation, int& source) override;
  void Interrupt() override;
  void Watch() override;
  void GiveUp(const absl::Status& why) override;

  const std::shared_ptr<Store> store_;
  const GlooDevice device_;
  const std::shared_ptr<GlooMesh> mesh_;
  GlooExecutor executor_;    // by the queue's thread alone
  int64_t collectives_ = 0;  // run so far; by the queue's thread alone
  bool recorded_ = false;    // the store knows why this rank gave up; by the queue's thread alone
  // When the operation in progress began (Unix time in ns; 0: none), when Watch last looked, and which operation it then saw
  // a broken connection under.
  std::atomic<int64_t> running_since_{0}, watched_at_{0}, broken_under_{0};
  OperationQueue queue_;  // last: its thread uses all of the above
};

}  // namespace lockstep

#endif  // LOCKSTEP_TRANSPORTS_GLOO_GLOO_COMMUNICATOR_H_
