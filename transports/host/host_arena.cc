#include "transports/host/host_arena.h"

#include <cstdlib>
#include <cstring>
#include <limits>

#include "absl/strings/str_cat.h"

namespace lockstep {

absl::StatusOr<Arena> AllocateHostArena(int64_t bytes) {
  if (bytes < 0) return absl::InvalidArgumentError(absl::StrCat("an arena of ", bytes, " bytes; expected 0 or more"));
  // aligned_alloc wants whole multiples of the alignment, and a byte to point to.
  const int64_t blocks = bytes / Arena::kAlignment + 1;
  if (blocks > std::numeric_limits<int64_t>::max() / Arena::kAlignment) {
    return absl::ResourceExhaustedError(absl::StrCat("no memory for an arena of ", bytes, " bytes"));
  }
  const size_t size = static_cast<size_t>(blocks * Arena::kAlignment);
  void* const memory = std::aligned_alloc(static_cast<size_t>(Arena::kAlignment), size);
  if (memory == nullptr) return absl::ResourceExhaustedError(absl::StrCat("no memory for an arena of ", bytes, " bytes"));
  std::memset(memory, 0, size);
  return Arena(memory, bytes, Device(), [memory] { std::free(memory); });
}

}  // namespace lockstep
