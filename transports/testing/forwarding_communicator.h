// A communicator that hands every operation on to another one, for tests that look at operations on their way, or spoil them.
//
//   class Recorder : public ForwardingCommunicator {
//     void BeforeStart(Operation& operation) override { Note(operation.Name()); }
//   };
#ifndef LOCKSTEP_TRANSPORTS_TESTING_FORWARDING_COMMUNICATOR_H_
#define LOCKSTEP_TRANSPORTS_TESTING_FORWARDING_COMMUNICATOR_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"
#include "transports/host/host_communicator.h"
#include "transports/host/operation.h"

namespace lockstep {

// Remembers every operation, so not for long runs.
class ForwardingCommunicator : public HostCommunicator {
 public:
  explicit ForwardingCommunicator(std::unique_ptr<Communicator> inner);

  absl::StatusOr<std::unique_ptr<Communicator>> Split(int color, int key) override;
  absl::StatusOr<Arena> CreateArena(int64_t bytes) override { return inner_->CreateArena(bytes); }
  void Progress() override { inner_->Progress(); }
  absl::Status health() const override { return inner_->health(); }

 protected:
  // May change what is handed on.
  virtual void BeforeStart(Operation&) {}
  // Once for each operation that ended well, by the first who waits for it. As it was before BeforeStart.
  virtual void AfterEnd(const Operation&) {}
  // Wraps a communicator split from the inner one.
  virtual std::unique_ptr<Communicator> Wrap(std::unique_ptr<Communicator> inner) = 0;

 private:
  struct Started {
    Work work;
    Operation operation;
    bool ended = false;
  };

  void Start(absl::Span<const Operation> operations) override;
  void Fail(const absl::Status& why) override { inner_->Abort(why); }
  absl::Status WaitForStarted(int64_t sequence) override;
  bool IsStartedDone(int64_t sequence) const override { return WorkOf(sequence).Done(); }
  int SourceOfStarted(int64_t sequence) const override { return WorkOf(sequence).source(); }
  // Never called: Split is the inner communicator's.
  absl::StatusOr<std::unique_ptr<Communicator>> ConnectMembers(const std::vector<int>&, int64_t, int) override;
  Work WorkOf(int64_t sequence) const;

  const std::unique_ptr<Communicator> inner_;
  mutable absl::Mutex mu_;
  std::deque<Started> started_ ABSL_GUARDED_BY(mu_);  // by sequence number
};

}  // namespace lockstep

#endif  // LOCKSTEP_TRANSPORTS_TESTING_FORWARDING_COMMUNICATOR_H_
