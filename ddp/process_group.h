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

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
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

  // Each waits for its end. `inout`, `in`, `out` as in Communicator.
  absl::Status AllReduce(Buffer inout, ReduceOp op, const CallOptions& options = {});
  absl::Status Broadcast(Buffer inout, int root, const CallOptions& options = {});
  absl::Status AllGather(ConstBuffer in, Buffer out, const CallOptions& options = {});
  absl::Status Barrier(absl::string_view name = "barrier");
  absl::Status Send(ConstBuffer in, int to, int tag, const CallOptions& options = {});
  absl::Status Recv(Buffer out, int from, int tag, const CallOptions& options = {});

  // Ends the group: waits (up to the group's timeout) until all ranks have come here, so that no rank takes the store away
  // from another, then disconnects. Disconnects on an error as well, which then tells who was missing. Every later call, a
  // second Destroy too, is FAILED_PRECONDITION.
  absl::Status Destroy();

 private:
  absl::Status Finish(Work work);
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
