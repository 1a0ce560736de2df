// Where a process stands in its job and where the ranks meet, worked out of options, URL and environment alone: no socket is
// opened, so that every mistake in them is told at once.
#ifndef LOCKSTEP_DDP_RENDEZVOUS_H_
#define LOCKSTEP_DDP_RENDEZVOUS_H_

#include "absl/status/statusor.h"
#include "ddp/init.h"
#include "ddp/process_group.h"
#include "transports/net/socket.h"

namespace lockstep {

struct Rendezvous {
  RankInfo info;   // but for the host's name
  Endpoint store;  // empty in a group of one, which needs none
};

// INVALID_ARGUMENT: one line that names the option, variable or URL, its value, and what is allowed.
absl::StatusOr<Rendezvous> FindRendezvous(const ProcessGroupOptions& options, const Environment& environment);

}  // namespace lockstep

#endif  // LOCKSTEP_DDP_RENDEZVOUS_H_
