// How a process joins its job.
//
//   ABSL_ASSIGN_OR_RETURN(auto group, lockstep::InitProcessGroup(lockstep::ProcessGroupOptionsFromFlags()));   // flags.h
//
// By default the launcher's environment decides (RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT, LOCAL_RANK, LOCAL_WORLD_SIZE,
// as ddprun and torchrun set them). Without any of these the process is a group of one, so that a program also runs alone.
#ifndef LOCKSTEP_DDP_INIT_H_
#define LOCKSTEP_DDP_INIT_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "ddp/process_group.h"
#include "transports/transport.h"

namespace lockstep {

struct ProcessGroupOptions {
  // A transport that is linked in: "gloo", ... A group of one needs none and opens no socket.
  std::string backend = "gloo";
  // "env://", or "tcp://host:port?rank=R&world_size=N" (an IPv6 address in brackets; rank and world_size may instead come
  // from below or from the environment). Rank 0 hosts the store there.
  std::string init_method = "env://";
  // Where given, these win over the environment; contradicting the URL is an error.
  absl::optional<int> rank = absl::nullopt;
  absl::optional<int> world_size = absl::nullopt;
  // For joining, and for every operation that names no timeout of its own.
  absl::Duration timeout = absl::Minutes(10);
  // The address peers reach this host by; empty: the address this host has on the route to rank 0.
  std::string host_address = {};
  // Used instead of looking up `backend`. Not owned.
  Transport* transport = nullptr;
};

// Reads a variable's value; nullopt: not set. std::getenv by default, a table in tests.
using Environment = std::function<absl::optional<std::string>(absl::string_view name)>;

// Joins the job and returns when all ranks are connected.
//   INVALID_ARGUMENT   an option, URL or variable: one line that names it, its value and what is allowed; checked before any
//                      connection is made
//   NOT_FOUND          no transport of that name is linked in
//   UNAVAILABLE        the address does not resolve, or the port is taken: at once
//   ALREADY_EXISTS     another process has come with this rank; FAILED_PRECONDITION: ranks give different world sizes
//   DEADLINE_EXCEEDED  peers did not come within `timeout`; they are named
// From then on this process' log lines carry rank and host.
absl::StatusOr<std::shared_ptr<ProcessGroup>> InitProcessGroup(const ProcessGroupOptions& options = {});
absl::StatusOr<std::shared_ptr<ProcessGroup>> InitProcessGroup(const ProcessGroupOptions& options,
                                                               const Environment& environment);

}  // namespace lockstep

#endif  // LOCKSTEP_DDP_INIT_H_
