// One checkpoint as one safetensors file with a checksum. docs/checkpoint_format.md has every byte.
//
// Knows nothing of ranks. Reading holds nothing in memory but the header: tensors go where the caller says.
#ifndef LOCKSTEP_DDP_CHECKPOINT_CHECKPOINT_FILE_H_
#define LOCKSTEP_DDP_CHECKPOINT_CHECKPOINT_FILE_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ddp/checkpoint/file_system.h"
#include "ddp/checkpoint/safetensors.h"
#include "ddp/stateful.h"

namespace lockstep {

// Writes `tensors` and `values` (those of the file itself, "lockstep.*", are added) as `path`: see WriteFileDurably.
// INVALID_ARGUMENT: a name twice, text that is not UTF-8.
absl::Status WriteCheckpointFile(FileSystem& files, const std::string& path, absl::Span<const StateTensor> tensors,
                                 const std::map<std::string, std::string>& values);

// A checkpoint being read. Errors name the file: DATA_LOSS it is damaged or none of ours; NOT_FOUND, PERMISSION_DENIED, ...
class CheckpointFile {
 public:
  // Reads and checks the header.
  static absl::StatusOr<CheckpointFile> Open(const std::string& path);
  CheckpointFile(CheckpointFile&& other) noexcept;
  CheckpointFile& operator=(CheckpointFile&&) = delete;
  ~CheckpointFile();

  const std::vector<SafetensorsEntry>& tensors() const { return header_.tensors; }
  // Without "format" and "lockstep.*".
  const std::map<std::string, std::string>& values() const { return header_.metadata; }

  // OK if the file holds exactly these names with these shapes and dtypes; else FAILED_PRECONDITION with the first that
  // differs: what is expected, what the file has.
  absl::Status CheckHolds(absl::Span<const StateTensor> expected) const;

  // Reads every tensor to where `destination` says, which has room for it, and compares the checksum.
  absl::Status Read(absl::FunctionRef<char*(const SafetensorsEntry&)> destination);

 private:
  CheckpointFile(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}

  absl::Status ReadHead();
  absl::Status TakeOwnValues();
  absl::Status ReadAt(int64_t offset, char* data, int64_t bytes) const;
  absl::Status InFile(const absl::Status& status) const;

  std::string path_;
  int fd_;
  std::string head_;  // length and header
  SafetensorsHeader header_;
  uint32_t checksum_ = 0;  // as the file states it
};

}  // namespace lockstep

#endif  // LOCKSTEP_DDP_CHECKPOINT_CHECKPOINT_FILE_H_
