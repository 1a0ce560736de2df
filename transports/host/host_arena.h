// Arenas of host memory for communicators that reduce anywhere in it.
#ifndef LOCKSTEP_TRANSPORTS_HOST_HOST_ARENA_H_
#define LOCKSTEP_TRANSPORTS_HOST_HOST_ARENA_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "transports/arena.h"

namespace lockstep {

// `bytes` zeroed, aligned bytes of host memory. INVALID_ARGUMENT below 0; RESOURCE_EXHAUSTED if there is no memory. Local.
absl::StatusOr<Arena> AllocateHostArena(int64_t bytes);

}  // namespace lockstep

#endif  // LOCKSTEP_TRANSPORTS_HOST_HOST_ARENA_H_
