// The communicator of a group of one: a program that also runs alone needs no transport, no store and no socket.
//
// Operations end before they return: there is nobody to wait for. Arguments are checked as every transport checks them, so
// that what is refused on eight ranks is refused on one.
#ifndef LOCKSTEP_DDP_SOLO_COMMUNICATOR_H_
#define LOCKSTEP_DDP_SOLO_COMMUNICATOR_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "transports/host/host_communicator.h"
#include "transports/host/operation.h"
#include "transports/transport.h"

namespace lockstep {

// Rank 0 of 1. Threads as in Communicator; CPU memory only. Send and Recv are INVALID_ARGUMENT: there is no peer.
class SoloCommunicator : public HostCommunicator {
 public:
  SoloCommunicator() : HostCommunicator(0, 1, absl::InfiniteDuration()) {}

  void Progress() override {}
  absl::Status health() const override;

 private:
  void Start(absl::Span<const Operation> operations) override;
  void Fail(const absl::Status& why) override;
  absl::Status WaitForStarted(int64_t sequence) override;
  bool IsStartedDone(int64_t) const override { return true; }
  int SourceOfStarted(int64_t) const override { return -1; }
  absl::StatusOr<std::unique_ptr<Communicator>> ConnectMembers(const std::vector<int>& members, int64_t split,
                                                               int color) override;

  mutable absl::Mutex mu_;
  int64_t started_ ABSL_GUARDED_BY(mu_) = 0;
  absl::Status failure_ ABSL_GUARDED_BY(mu_);
  int64_t failed_from_ ABSL_GUARDED_BY(mu_) = 0;  // sequence numbers from here on end with failure_
};

}  // namespace lockstep

#endif  // LOCKSTEP_DDP_SOLO_COMMUNICATOR_H_
