#include "ddp/checkpoint/file_system.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace lockstep {
namespace {

int OrErrno(int result) { return result < 0 ? -errno : result; }

class KernelFileSystem final : public FileSystem {
 public:
  int Open(const std::string& path, int flags, int mode) override { return OrErrno(::open(path.c_str(), flags, mode)); }
  int Lock(int fd) override { return OrErrno(::flock(fd, LOCK_EX | LOCK_NB)); }
  int Allocate(int fd, int64_t bytes) override { return OrErrno(::fallocate(fd, 0, 0, bytes)); }
  int64_t Write(int fd, const void* data, size_t bytes) override {
    const ssize_t written = ::write(fd, data, bytes);
    return written < 0 ? -errno : written;
  }
  int Sync(int fd) override { return OrErrno(::fsync(fd)); }
  int Close(int fd) override { return OrErrno(::close(fd)); }
  int Rename(const std::string& from, const std::string& to) override { return OrErrno(::rename(from.c_str(), to.c_str())); }
  int Remove(const std::string& path) override { return OrErrno(::unlink(path.c_str())); }
  int MakeDirectory(const std::string& path) override { return OrErrno(::mkdir(path.c_str(), 0777)); }
};

}  // namespace

FileSystem& RealFileSystem() {
  static FileSystem& file_system = *new KernelFileSystem;
  return file_system;
}

}  // namespace lockstep
