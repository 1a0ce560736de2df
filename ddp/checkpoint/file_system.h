// The system calls that make a file durable, as an interface, so that tests can make each of them fail.
#ifndef LOCKSTEP_DDP_CHECKPOINT_FILE_SYSTEM_H_
#define LOCKSTEP_DDP_CHECKPOINT_FILE_SYSTEM_H_

#include <cstddef>
#include <cstdint>
#include <string>

namespace lockstep {

// Each method is one call and returns what that returns, or -errno. Thread-safe.
class FileSystem {
 public:
  virtual ~FileSystem() = default;

  virtual int Open(const std::string& path, int flags, int mode) = 0;
  virtual int Lock(int fd) = 0;                     // exclusive, without waiting; ends with the descriptor
  virtual int Allocate(int fd, int64_t bytes) = 0;  // room for a file of this size, which it then has
  virtual int64_t Write(int fd, const void* data, size_t bytes) = 0;
  virtual int Sync(int fd) = 0;
  virtual int Close(int fd) = 0;  // the descriptor is gone, whatever this returns
  virtual int Rename(const std::string& from, const std::string& to) = 0;
  virtual int Remove(const std::string& path) = 0;
  virtual int MakeDirectory(const std::string& path) = 0;
};

// The kernel's.
FileSystem& RealFileSystem();

}  // namespace lockstep

#endif  // LOCKSTEP_DDP_CHECKPOINT_FILE_SYSTEM_H_
