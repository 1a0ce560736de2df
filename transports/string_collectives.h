// Collectives of strings, whose lengths the ranks need not know of each other.
//
//   ABSL_ASSIGN_OR_RETURN(const std::string plan, BroadcastString(*comm, MakePlan(), /*root=*/0));
//   ABSL_ASSIGN_OR_RETURN(const std::vector<std::string> hosts, AllGatherStrings(*comm, HostName()));
//
// All ranks call the same one, in the order of the communicator's other operations; each waits for its end. A string has 1 GiB at
// most: a longer one is INVALID_ARGUMENT on all ranks, naming the rank that has it, and the communicator goes on. Other errors are
// the communicator's. Each makes two operations: the lengths, then the strings.
#ifndef LOCKSTEP_TRANSPORTS_STRING_COLLECTIVES_H_
#define LOCKSTEP_TRANSPORTS_STRING_COLLECTIVES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "transports/transport.h"

namespace lockstep {

// Rank `root`'s `text`, on every rank; elsewhere `text` is not looked at.
absl::StatusOr<std::string> BroadcastString(Communicator& communicator, absl::string_view text, int root,
                                            const CallOptions& options = {});

// All ranks' texts, by rank.
absl::StatusOr<std::vector<std::string>> AllGatherStrings(Communicator& communicator, absl::string_view text,
                                                          const CallOptions& options = {});

// The same on rank `root`; empty elsewhere.
absl::StatusOr<std::vector<std::string>> GatherStrings(Communicator& communicator, absl::string_view text, int root,
                                                       const CallOptions& options = {});

}  // namespace lockstep

#endif  // LOCKSTEP_TRANSPORTS_STRING_COLLECTIVES_H_
