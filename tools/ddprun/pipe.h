// Pipes between ddprun and its ranks.
#ifndef LOCKSTEP_TOOLS_DDPRUN_PIPE_H_
#define LOCKSTEP_TOOLS_DDPRUN_PIPE_H_

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "absl/status/status.h"
#include "transports/net/file_descriptor.h"

namespace lockstep::ddprun {

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

#endif  // LOCKSTEP_TOOLS_DDPRUN_PIPE_H_
