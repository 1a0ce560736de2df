// The store of a job as its ranks find it: rank 0 runs the server, all connect, and nobody goes on before rank 0 has seen
// that each rank has come once and counts the same number of ranks.
#ifndef LOCKSTEP_DDP_JOB_STORE_H_
#define LOCKSTEP_DDP_JOB_STORE_H_

#include <memory>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "ddp/process_group.h"
#include "transports/net/socket.h"
#include "transports/store/store.h"

namespace lockstep {

// The store (on rank 0 with its server), when all ranks have come.
//   UNAVAILABLE          the port is taken, the host does not resolve, or rank 0 is gone
//   ALREADY_EXISTS       another process has this rank; named with host and pid
//   FAILED_PRECONDITION  ranks count different numbers of ranks; the first that differs is named, on every rank
//   DEADLINE_EXCEEDED    names those that did not come
absl::StatusOr<std::shared_ptr<Store>> MeetInStore(const Endpoint& endpoint, const RankInfo& info, absl::Time deadline);

}  // namespace lockstep

#endif  // LOCKSTEP_DDP_JOB_STORE_H_
