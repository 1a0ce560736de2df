// What transports of host memory share: the public face of Communicator, the check of its arguments, Split and arenas.
//
// A transport derives from it and starts checked operations in Start. An operation that is refused (INVALID_ARGUMENT) never
// reaches it: its Work carries its own status, takes no place in the order, and later operations work. On a communicator that
// has failed it ends with that failure, as all do.
#ifndef LOCKSTEP_TRANSPORTS_HOST_HOST_COMMUNICATOR_H_
#define LOCKSTEP_TRANSPORTS_HOST_HOST_COMMUNICATOR_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "transports/host/operation.h"
#include "transports/transport.h"

namespace lockstep {

class HostCommunicator : public Communicator {
 public:
  int rank() const final { return rank_; }
  int size() const final { return size_; }

  Work AllReduce(ConstBuffer in, Buffer out, ReduceOp op, const CallOptions& options) final;
  Work Reduce(ConstBuffer in, Buffer out, ReduceOp op, int root, const CallOptions& options) final;
  Work ReduceScatter(ConstBuffer in, Buffer out, ReduceOp op, const CallOptions& options) final;
  Work ReduceScatterV(ConstBuffer in, Buffer out, absl::Span<const int64_t> counts, ReduceOp op,
                      const CallOptions& options) final;
  Work Broadcast(Buffer inout, int root, const CallOptions& options) final;
  Work AllGather(ConstBuffer in, Buffer out, const CallOptions& options) final;
  Work AllGatherV(ConstBuffer in, Buffer out, absl::Span<const int64_t> counts, const CallOptions& options) final;
  Work Gather(ConstBuffer in, Buffer out, int root, const CallOptions& options) final;
  Work GatherV(ConstBuffer in, Buffer out, absl::Span<const int64_t> counts, int root, const CallOptions& options) final;
  Work Scatter(ConstBuffer in, Buffer out, int root, const CallOptions& options) final;
  Work ScatterV(ConstBuffer in, absl::Span<const int64_t> counts, Buffer out, int root, const CallOptions& options) final;
  Work AllToAll(ConstBuffer in, Buffer out, const CallOptions& options) final;
  Work AllToAllV(ConstBuffer in, absl::Span<const int64_t> in_counts, Buffer out, absl::Span<const int64_t> out_counts,
                 const CallOptions& options) final;
  Work Barrier(const CallOptions& options) final;
  Work Send(ConstBuffer in, int to, int tag, const CallOptions& options) final;
  Work Recv(Buffer out, int from, int tag, const CallOptions& options) final;
  absl::StatusOr<std::unique_ptr<Communicator>> Split(int color, int key) override;
  absl::StatusOr<Arena> CreateArena(int64_t bytes) override;
  void Abort(absl::Status why) final;

 protected:
  HostCommunicator(int rank, int size, absl::Duration timeout) : rank_(rank), size_(size), timeout_(timeout) {}

  absl::Duration timeout() const { return timeout_; }

  // Starts `operations` together, one or a group, whose arguments are right. Their sequence numbers follow those before, from 0
  // on. Allocates nothing for one.
  virtual void Start(absl::Span<const Operation> operations) = 0;
  // Communicator's Abort; `why` is an error.
  virtual void Fail(const absl::Status& why) = 0;
  // Communicator's, for sequence numbers that Start gave.
  virtual absl::Status WaitForStarted(int64_t sequence) = 0;
  virtual bool IsStartedDone(int64_t sequence) const = 0;
  virtual int SourceOfStarted(int64_t sequence) const = 0;
  // Connects the ranks `members` of this communicator, of which this rank is one, in that order. `split` counts this
  // communicator's Splits and is, with `color`, the same on all members.
  virtual absl::StatusOr<std::unique_ptr<Communicator>> ConnectMembers(const std::vector<int>& members, int64_t split,
                                                                       int color) = 0;

 private:
  static constexpr size_t kLargestGroup = 1024;
  // Remembered for those who wait later. A Work refused so long ago that kRemembered others have been since counts as done.
  static constexpr int64_t kRemembered = 64;

  absl::Status WaitFor(int64_t sequence) final;
  bool IsDone(int64_t sequence) const final;
  int SourceOf(int64_t sequence) const final;
  void BlockStreamOn(int64_t, Stream) final {}
  void BeginGroup() final { ++group_depth_; }
  void EndGroup() final;

  // Starts the operation, or refuses it: for its arguments, or for `counts`, what CheckCounts said of them.
  Work Issue(Operation& operation, const CallOptions& options, const absl::Status& counts = absl::OkStatus());
  Work Refuse(const Operation& operation, const absl::Status& why);

  const int rank_;
  const int size_;
  const absl::Duration timeout_;
  // By the one thread that issues.
  int64_t splits_ = 0;
  int group_depth_ = 0;
  std::vector<Operation> group_;     // issued, not started
  std::atomic<int64_t> started_{0};  // how many operations have been; read by those who wait

  absl::Mutex mu_;
  int64_t refused_ ABSL_GUARDED_BY(mu_) = 0;
  std::array<absl::Status, kRemembered> refusals_ ABSL_GUARDED_BY(mu_);
};

}  // namespace lockstep

#endif  // LOCKSTEP_TRANSPORTS_HOST_HOST_COMMUNICATOR_H_
