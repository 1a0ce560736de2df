// The folder of a job's checkpoints: how the files are named, which is the latest, which may go.
//
// The rename that puts a file in its place is what makes a checkpoint; there is no separate "latest" file to disagree with.
#ifndef LOCKSTEP_DDP_CHECKPOINT_CHECKPOINT_DIRECTORY_H_
#define LOCKSTEP_DDP_CHECKPOINT_CHECKPOINT_DIRECTORY_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ddp/checkpoint/file_system.h"

namespace lockstep {

class CheckpointDirectory {
 public:
  // `files` outlives this.
  CheckpointDirectory(std::string path, FileSystem& files) : path_(std::move(path)), files_(files) {}

  // Makes the folder if it is missing, and removes what killed writers left there.
  absl::Status Prepare();

  // "<folder>/checkpoint-0000000042.safetensors"
  std::string PathOf(int64_t id) const;

  // Rising. Other files in the folder are ignored.
  absl::StatusOr<std::vector<int64_t>> List() const;

  // Removes all checkpoints but the `keep` latest.
  absl::Status Prune(int keep);

 private:
  std::string path_;
  FileSystem& files_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_DDP_CHECKPOINT_CHECKPOINT_DIRECTORY_H_
