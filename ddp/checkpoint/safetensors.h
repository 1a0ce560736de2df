// The safetensors format: a header in JSON that says where each tensor's bytes lie, then these bytes.
//
//   u64 length (little-endian) | header: {"fc1.weight":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}, ...} | data
//
// The reader is strict where the reference reader is lenient: no name or key twice, no space in front of the header, nothing
// unknown, nothing of another type. Every file that is not exactly right ends in DATA_LOSS, which names the tensor, what
// stands there and what was expected; it allocates no more than the header's own size times a small factor.
#ifndef LOCKSTEP_DDP_CHECKPOINT_SAFETENSORS_H_
#define LOCKSTEP_DDP_CHECKPOINT_SAFETENSORS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "transports/buffer.h"

namespace lockstep {

struct SafetensorsEntry {
  std::string name;  // any text: never use it as a path
  DType dtype = DType::kF32;
  std::vector<int64_t> shape;
  int64_t begin = 0;  // of its bytes, counted from the beginning of the data
  int64_t end = 0;
};

struct SafetensorsHeader {
  std::vector<SafetensorsEntry> tensors;  // in the data's order, without gaps
  std::map<std::string, std::string> metadata;
};

// Headers are at most this long, in files read and written. A tensor takes about 100 bytes.
inline constexpr int64_t kMaxSafetensorsHeaderBytes = 16 << 20;

// The first eight bytes of a file of `file_bytes` bytes: how long the header is.
absl::StatusOr<int64_t> ParseSafetensorsLength(absl::string_view eight_bytes, int64_t file_bytes);

// The header of a file whose data is `data_bytes` long.
absl::StatusOr<SafetensorsHeader> ParseSafetensorsHeader(absl::string_view header, int64_t data_bytes);

// What stands in front of the data: length and header, padded so that the data begins at a multiple of 64. Puts `tensors`
// into the reference writer's order (by dtype, the widest first, then by name) and sets their offsets. INVALID_ARGUMENT: a
// name twice or reserved, text that is not UTF-8, a header too long.
absl::StatusOr<std::string> BuildSafetensorsHead(SafetensorsHeader& header);

// "F32", as the format names a dtype.
absl::string_view SafetensorsDTypeName(DType dtype);

// "[2,3]", as errors show a shape.
std::string ShapeText(const std::vector<int64_t>& shape);

// A name from a file in quotes, escaped and cut, for errors.
std::string QuotedName(absl::string_view name);

}  // namespace lockstep

#endif  // LOCKSTEP_DDP_CHECKPOINT_SAFETENSORS_H_
