// A file descriptor with one owner, closed with it.
#ifndef LOCKSTEP_TOOLS_DDPRUN_FILE_DESCRIPTOR_H_
#define LOCKSTEP_TOOLS_DDPRUN_FILE_DESCRIPTOR_H_

#include <fcntl.h>
#include <unistd.h>

#include <utility>

#include "absl/status/status.h"

namespace lockstep::ddprun {

class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int fd) : fd_(fd) {}
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    Close();
    fd_ = std::exchange(other.fd_, -1);
    return *this;
  }
  ~FileDescriptor() { Close(); }

  // -1: none, or closed.
  int get() const { return fd_; }
  bool open() const { return fd_ >= 0; }
  void Close() {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }

 private:
  int fd_ = -1;
};

// Both ends close on exec, so that no rank holds another's pipe open.
struct Pipe {
  FileDescriptor read;
  FileDescriptor write;
};

// Fails when the process may open no more files; the message says so.
inline absl::Status OpenPipe(Pipe& pipe) {
  int fds[2];
  if (::pipe2(fds, O_CLOEXEC) != 0) return absl::ErrnoToStatus(errno, "cannot make a pipe (limit: ulimit -n)");
  pipe.read = FileDescriptor(fds[0]);
  pipe.write = FileDescriptor(fds[1]);
  return absl::OkStatus();
}

}  // namespace lockstep::ddprun

#endif  // LOCKSTEP_TOOLS_DDPRUN_FILE_DESCRIPTOR_H_
