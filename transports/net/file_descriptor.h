// A file descriptor with one owner, closed with it.
#ifndef LOCKSTEP_TRANSPORTS_NET_FILE_DESCRIPTOR_H_
#define LOCKSTEP_TRANSPORTS_NET_FILE_DESCRIPTOR_H_

#include <unistd.h>

#include <utility>

namespace lockstep {

// Move-only. One thread at a time.
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

}  // namespace lockstep

#endif  // LOCKSTEP_TRANSPORTS_NET_FILE_DESCRIPTOR_H_
