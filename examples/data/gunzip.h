// Whole gzip files, inflated in memory.
#ifndef LOCKSTEP_EXAMPLES_DATA_GUNZIP_H_
#define LOCKSTEP_EXAMPLES_DATA_GUNZIP_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace data {

// What `gzip`, one complete member, inflates to. `limit` bounds it, so that a small hostile file cannot fill the memory.
// DATA_LOSS: no gzip file, cut short, checksum wrong, bytes after its end, or larger than `limit`; says which.
absl::StatusOr<std::string> Gunzip(absl::string_view gzip, int64_t limit);

}  // namespace data

#endif  // LOCKSTEP_EXAMPLES_DATA_GUNZIP_H_
