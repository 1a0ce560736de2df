// A file system that fails when it is told to, for tests: at the k-th call, with an error, or with the end of the process.
#ifndef LOCKSTEP_DDP_CHECKPOINT_FAULTY_FILE_SYSTEM_H_
#define LOCKSTEP_DDP_CHECKPOINT_FAULTY_FILE_SYSTEM_H_

#include <signal.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ddp/checkpoint/file_system.h"

namespace lockstep {

// The kernel's file system, but for what its fields say. Counts the calls from 0. One thread.
class FaultyFileSystem final : public FileSystem {
 public:
  int fail_at = -1;                                       // this call fails with `error`
  bool for_good = false;                                  // and all calls after it
  int error = 0;                                          // an errno
  int kill_at = -1;                                       // this call, half done if it is a write, is the process' last
  size_t max_write = std::numeric_limits<size_t>::max();  // bytes that one write takes

  // "open <path>", "write 100", ... in order.
  const std::vector<std::string>& calls() const { return calls_; }

  int Open(const std::string& path, int flags, int mode) override {
    return Fails(absl::StrCat("open ", path)) ? -error : real_.Open(path, flags, mode);
  }
  int Lock(int fd) override { return Fails("lock") ? -error : real_.Lock(fd); }
  int Allocate(int fd, int64_t bytes) override {
    return Fails(absl::StrCat("allocate ", bytes)) ? -error : real_.Allocate(fd, bytes);
  }
  int64_t Write(int fd, const void* data, size_t bytes) override {
    if (static_cast<int>(calls_.size()) == kill_at) real_.Write(fd, data, bytes / 2);
    return Fails(absl::StrCat("write ", bytes)) ? -error : real_.Write(fd, data, std::min(bytes, max_write));
  }
  int Sync(int fd) override { return Fails("fsync") ? -error : real_.Sync(fd); }
  int Close(int fd) override {
    const int result = real_.Close(fd);  // the descriptor is gone even when close fails
    return Fails("close") ? -error : result;
  }
  int Rename(const std::string& from, const std::string& to) override {
    return Fails(absl::StrCat("rename to ", to)) ? -error : real_.Rename(from, to);
  }
  int Remove(const std::string& path) override { return Fails(absl::StrCat("remove ", path)) ? -error : real_.Remove(path); }
  int MakeDirectory(const std::string& path) override {
    return Fails(absl::StrCat("mkdir ", path)) ? -error : real_.MakeDirectory(path);
  }

 private:
  bool Fails(std::string call) {
    const int number = static_cast<int>(calls_.size());
    calls_.push_back(std::move(call));
    if (number == kill_at) raise(SIGKILL);
    return fail_at >= 0 && (number == fail_at || (for_good && number > fail_at));
  }

  FileSystem& real_ = RealFileSystem();
  std::vector<std::string> calls_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_DDP_CHECKPOINT_FAULTY_FILE_SYSTEM_H_
