// The communicator of a group of one: a program that also runs alone needs no transport, no store and no socket.
//
// Operations end before they return: there is nobody to wait for. Arguments are checked as every transport checks them, so
// that what is refused on eight ranks is refused on one.
#ifndef LOCKSTEP_DDP_SOLO_COMMUNICATOR_H_
#define LOCKSTEP_DDP_SOLO_COMMUNICATOR_H_

#include <array>
#include <cstdint>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "transports/host/operation.h"
#include "transports/transport.h"

namespace lockstep {

// Rank 0 of 1. Threads as in Communicator; CPU memory only. Send and Recv are INVALID_ARGUMENT: there is no peer.
class SoloCommunicator : public Communicator {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }

  Work AllReduce(ConstBuffer in, Buffer out, ReduceOp op, const CallOptions& options) override;
  Work Broadcast(Buffer inout, int root, const CallOptions& options) override;
  Work AllGather(ConstBuffer in, Buffer out, const CallOptions& options) override;
  Work Barrier(const CallOptions& options) override;
  Work Send(ConstBuffer in, int to, int tag, const CallOptions& options) override;
  Work Recv(Buffer out, int from, int tag, const CallOptions& options) override;
  absl::StatusOr<std::unique_ptr<Communicator>> Split(int color, int key) override;
  absl::StatusOr<Arena> CreateArena(int64_t bytes) override;
  void Progress() override {}
  void Abort(absl::Status why) override;
  absl::Status health() const override;

 protected:
  absl::Status WaitFor(int64_t sequence) override;
  bool IsDone(int64_t) const override { return true; }
  void BlockStreamOn(int64_t, Stream) override {}

 private:
  // Remembered for those who wait later. A Work of an operation so long ago that kRemembered others have been refused
  // since counts as done.
  struct Refusal {
    int64_t sequence = -1;
    absl::Status status;
  };
  static constexpr size_t kRemembered = 64;

  // Checks and runs one operation. `described`: the buffer that its error shows.
  Work Run(Operation operation, const ConstBuffer& described, const CallOptions& options);

  mutable absl::Mutex mu_;
  int64_t next_sequence_ ABSL_GUARDED_BY(mu_) = 0;
  std::array<Refusal, kRemembered> refusals_ ABSL_GUARDED_BY(mu_);
  size_t next_refusal_ ABSL_GUARDED_BY(mu_) = 0;
  absl::Status aborted_ ABSL_GUARDED_BY(mu_);
  int64_t aborted_from_ ABSL_GUARDED_BY(mu_) = 0;  // sequence numbers from here on end with aborted_
};

}  // namespace lockstep

#endif  // LOCKSTEP_DDP_SOLO_COMMUNICATOR_H_
