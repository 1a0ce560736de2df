// The ranks of a job, as a program sees them: who am I, how many are we, and collectives that wait.
//
//   ABSL_ASSIGN_OR_RETURN(std::shared_ptr<ProcessGroup> group, InitProcessGroup(options));   // init.h
//   ABSL_RETURN_IF_ERROR(group->Barrier("data is there"));
//   ABSL_RETURN_IF_ERROR(group->AllReduce(MakeBuffer(absl::MakeSpan(&loss, 1)), ReduceOp::kAvg));
//   return group->Destroy();
//
// One thread at a time calls its collectives, in the same order on all ranks; accessors are thread-safe. The parts of the
// engine (DistributedDataParallel, CheckpointManager) each take a communicator of their own from NewCommunicator, so that
// their operations never interleave with the caller's. Errors name rank and host.
#ifndef LOCKSTEP_DDP_PROCESS_GROUP_H_
#define LOCKSTEP_DDP_PROCESS_GROUP_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "transports/store/store.h"
#include "transports/transport.h"

namespace lockstep {

// Where a process stands in its job, as its launcher told it.
struct RankInfo {
  int rank = 0;
  int world_size = 1;
  int local_rank = 0;  // among the ranks of this host
  int local_world_size = 1;
  std::string host;  // this host's name
};

class ProcessGroup {
 public:
  // Takes over a connected communicator and what it lives on (the store and, on rank 0, its server; may be null for a
  // communicator that needs none). The ranks say goodbye in `store` under "goodbye/...", so give each group a PrefixStore.
  // `timeout` bounds Destroy. Programs call InitProcessGroup instead; tests and own launchers may build one directly.
  ProcessGroup(RankInfo info, std::string backend, std::unique_ptr<Communicator> communicator, std::shared_ptr<Store> store,
               absl::Duration timeout = absl::Minutes(10));
  // Like Destroy, but without waiting for peers: those that still communicate get UNAVAILABLE.
  ~ProcessGroup();
  ProcessGroup(const ProcessGroup&) = delete;
  ProcessGroup& operator=(const ProcessGroup&) = delete;

  int rank() const { return info_.rank; }
  int size() const { return info_.world_size; }
  const RankInfo& info() const { return info_; }
  const std::string& backend() const { return backend_; }

  // A communicator over the same ranks with an order of its own. Collective; waits. Must go before this object does, but may
  // be there still when Destroy is called.
  absl::StatusOr<std::unique_ptr<Communicator>> NewCommunicator();

  // Each waits for its end. Arguments, what may be in place, and errors as in Communicator (transports/transport.h); AllReduce
  // is always in place.
  absl::Status AllReduce(Buffer inout, ReduceOp op, const CallOptions& options = {});
  absl::Status Reduce(ConstBuffer in, Buffer out, ReduceOp op, int root, const CallOptions& options = {});
  absl::Status ReduceScatter(ConstBuffer in, Buffer out, ReduceOp op, const CallOptions& options = {});
  absl::Status ReduceScatterV(ConstBuffer in, Buffer out, absl::Span<const int64_t> counts, ReduceOp op,
                              const CallOptions& options = {});
  absl::Status Broadcast(Buffer inout, int root, const CallOptions& options = {});
  absl::Status AllGather(ConstBuffer in, Buffer out, const CallOptions& options = {});
  absl::Status AllGatherV(ConstBuffer in, Buffer out, absl::Span<const int64_t> counts, const CallOptions& options = {});
  absl::Status Gather(ConstBuffer in, Buffer out, int root, const CallOptions& options = {});
  absl::Status GatherV(ConstBuffer in, Buffer out, absl::Span<const int64_t> counts, int root,
                       const CallOptions& options = {});
  absl::Status Scatter(ConstBuffer in, Buffer out, int root, const CallOptions& options = {});
  absl::Status ScatterV(ConstBuffer in, absl::Span<const int64_t> counts, Buffer out, int root,
                        const CallOptions& options = {});
  absl::Status AllToAll(ConstBuffer in, Buffer out, const CallOptions& options = {});
  absl::Status AllToAllV(ConstBuffer in, absl::Span<const int64_t> in_counts, Buffer out,
                         absl::Span<const int64_t> out_counts, const CallOptions& options = {});
  absl::Status Barrier(absl::string_view name = "barrier");
  absl::Status Send(ConstBuffer in, int to, int tag, const CallOptions& options = {});
  // From kAnyRank it sets `source`, if given, to the rank whose message it was.
  absl::Status Recv(Buffer out, int from, int tag, const CallOptions& options = {}, int* source = nullptr);

  // Ends the group: waits (up to the group's timeout) until all ranks have come here, so that no rank takes the store away
  // from another, then disconnects. Disconnects on an error as well, which then tells who was missing. Every later call, a
  // second Destroy too, is FAILED_PRECONDITION.
  absl::Status Destroy();

 private:
  // Issues an operation, unless the group has been destroyed, and waits for it. `what` names it.
  template <typename Issue>
  absl::Status Run(absl::string_view what, Issue issue, int* source = nullptr);
  absl::Status CheckAlive(absl::string_view what) const;
  absl::Status Annotate(const absl::Status& status) const;
  absl::Status SayGoodbye(absl::Time deadline);

  const RankInfo info_;
  const std::string backend_;
  const absl::Duration timeout_;
  // Outlives communicator_ and, as they hold this group, the engine's parts whose communicators were split from it: they may
  // be destroyed after Destroy.
  const std::shared_ptr<Store> store_;
  std::unique_ptr<Communicator> communicator_;  // null once destroyed
};

}  // namespace lockstep

#endif  // LOCKSTEP_DDP_PROCESS_GROUP_H_
