#include "ddp/checkpoint/durable_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <random>
#include <system_error>
#include <utility>

#include "absl/status/status_macros.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace lockstep {
namespace {

constexpr absl::string_view kTemporaryMark = ".tmp-";
constexpr size_t kMaxWrite = 64 << 20;  // far below what one write may move

absl::Status Check(int64_t result, absl::string_view call, const std::string& path) {
  if (result >= 0) return absl::OkStatus();
  return absl::ErrnoToStatus(static_cast<int>(-result), absl::StrCat(call, " ", path));
}

std::string NameOf(const std::string& path) { return path.substr(path.rfind('/') + 1); }

std::string TemporaryPath(const std::string& path) {
  std::random_device random;
  return absl::StrCat(FolderOf(path), "/", kTemporaryMark, NameOf(path), "-", ::getpid(), "-", absl::Hex(random()));
}

// A new file that is removed again unless it was put in its place.
class TemporaryFile {
 public:
  TemporaryFile(FileSystem& files, const std::string& target)
      : files_(files), target_(target), path_(TemporaryPath(target)) {}
  ~TemporaryFile() {
    if (!exists_) return;
    files_.Remove(path_);  // first, since it may hold the room that others need
    if (fd_ >= 0) files_.Close(fd_);
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  absl::Status Create(int64_t bytes) {
    fd_ = files_.Open(path_, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    ABSL_RETURN_IF_ERROR(Check(fd_, "create", path_));
    exists_ = true;
    files_.Lock(fd_);  // says that its writer lives; where locks are not supported, leftovers are not cleaned up
    const int allocated = bytes == 0 ? 0 : files_.Allocate(fd_, bytes);
    return allocated == -EOPNOTSUPP || allocated == -ENOSYS ? absl::OkStatus() : Check(allocated, "allocate", path_);
  }

  absl::Status Write(absl::string_view data) {
    while (!data.empty()) {
      const int64_t written = files_.Write(fd_, data.data(), std::min(data.size(), kMaxWrite));
      if (written == -EINTR) continue;
      ABSL_RETURN_IF_ERROR(Check(written == 0 ? -EIO : written, "write", path_));
      data.remove_prefix(static_cast<size_t>(written));
    }
    return absl::OkStatus();
  }

  // A failed fsync is final: the data may be gone even if the next one succeeds.
  absl::Status MoveIntoPlace() {
    ABSL_RETURN_IF_ERROR(Check(files_.Sync(fd_), "fsync", path_));
    ABSL_RETURN_IF_ERROR(Check(files_.Close(std::exchange(fd_, -1)), "close", path_));
    ABSL_RETURN_IF_ERROR(Check(files_.Rename(path_, target_), "rename", absl::StrCat(path_, " to ", target_)));
    exists_ = false;
    return absl::OkStatus();
  }

 private:
  FileSystem& files_;
  const std::string target_;
  const std::string path_;
  int fd_ = -1;
  bool exists_ = false;
};

bool IsAbandoned(FileSystem& files, const std::string& path) {
  const int fd = files.Open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW, 0);
  if (fd < 0) return false;
  const bool free = files.Lock(fd) >= 0;
  files.Close(fd);
  return free;
}

}  // namespace

std::string FolderOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

absl::Status SyncFolder(FileSystem& files, const std::string& folder) {
  const int fd = files.Open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
  ABSL_RETURN_IF_ERROR(Check(fd, "open", folder));
  const absl::Status synced = Check(files.Sync(fd), "fsync", folder);
  files.Close(fd);
  return synced;
}

absl::Status WriteFileDurably(FileSystem& files, const std::string& path, absl::Span<const absl::string_view> pieces) {
  int64_t bytes = 0;
  for (const absl::string_view piece : pieces) bytes += static_cast<int64_t>(piece.size());
  TemporaryFile temporary(files, path);
  ABSL_RETURN_IF_ERROR(temporary.Create(bytes));
  for (const absl::string_view piece : pieces) ABSL_RETURN_IF_ERROR(temporary.Write(piece));
  ABSL_RETURN_IF_ERROR(temporary.MoveIntoPlace());
  return SyncFolder(files, FolderOf(path));
}

absl::Status MakeFolderDurably(FileSystem& files, const std::string& path) {
  struct stat status;
  if (::stat(path.c_str(), &status) == 0) return S_ISDIR(status.st_mode) ? absl::OkStatus() : Check(-ENOTDIR, "mkdir", path);
  const std::string parent = FolderOf(path);
  ABSL_RETURN_IF_ERROR(MakeFolderDurably(files, parent));
  const int made = files.MakeDirectory(path);
  ABSL_RETURN_IF_ERROR(Check(made == -EEXIST ? 0 : made, "mkdir", path));  // another process was quicker
  return SyncFolder(files, parent);
}

void RemoveAbandonedTemporaries(FileSystem& files, const std::string& folder, absl::string_view prefix) {
  const std::string mark = absl::StrCat(kTemporaryMark, prefix);
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    const std::string path = entry->path().string();
    if (absl::StartsWith(NameOf(path), mark) && IsAbandoned(files, path)) files.Remove(path);
  }
}

}  // namespace lockstep
