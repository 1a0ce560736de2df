// Files that are whole or not there at all, whatever happens while they are written, and that stay once reported.
//
// The protocol: a temporary file in the same folder, room for all of it, write, fsync, close, rename, fsync of the folder.
// Without the first fsync a crash leaves an empty file under the final name, on some file systems even in place of a good
// old one; without the second it may leave the old state.
#ifndef LOCKSTEP_DDP_CHECKPOINT_DURABLE_FILE_H_
#define LOCKSTEP_DDP_CHECKPOINT_DURABLE_FILE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "ddp/checkpoint/file_system.h"

namespace lockstep {

// Writes `pieces`, one after the other, as `path`, replacing what was there. OK: it is on the disk to stay. Else what was
// there is untouched (or, if only the folder's fsync failed, replaced by the whole new file), the temporary file is removed,
// and the error names call, path and cause: RESOURCE_EXHAUSTED the disk is full, PERMISSION_DENIED, NOT_FOUND, ...
absl::Status WriteFileDurably(FileSystem& files, const std::string& path, absl::Span<const absl::string_view> pieces);

// Makes `path` and the folders above it, as far as they are missing, to stay.
absl::Status MakeFolderDurably(FileSystem& files, const std::string& path);

// Removes what writers that were killed left in `folder`: temporary files for names that begin with `prefix` which no living
// process holds open. Leaves alone what it cannot tell about or remove.
void RemoveAbandonedTemporaries(FileSystem& files, const std::string& folder, absl::string_view prefix);

// Makes removals and renames in `folder` permanent.
absl::Status SyncFolder(FileSystem& files, const std::string& folder);

// "/a/b" of "/a/b/c", "." of "c".
std::string FolderOf(const std::string& path);

}  // namespace lockstep

#endif  // LOCKSTEP_DDP_CHECKPOINT_DURABLE_FILE_H_
