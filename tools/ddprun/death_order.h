// Tells in which order processes ended, even when many did before anybody looked.
//
// waitpid tells who ended, not who was first: a launcher that was not scheduled for a moment would blame the rank with the
// lowest number. The kernel queues the ready descriptors of an epoll set in the order in which they became ready.
#ifndef LOCKSTEP_TOOLS_DDPRUN_DEATH_ORDER_H_
#define LOCKSTEP_TOOLS_DDPRUN_DEATH_ORDER_H_

#include <vector>

#include "absl/status/statusor.h"
#include "transports/net/file_descriptor.h"

namespace lockstep::ddprun {

class DeathOrder {
 public:
  static absl::StatusOr<DeathOrder> Create();

  // `death_fd` (a pidfd) becomes readable when `index`'s process ends. Watched until it is closed.
  absl::Status Watch(int death_fd, int index);

  // Readable when Ended() has something to tell.
  int fd() const { return epoll_.get(); }
  // The indices of processes that ended, first to last; those that were not reaped since are told again.
  std::vector<int> Ended() const;

 private:
  explicit DeathOrder(FileDescriptor epoll) : epoll_(std::move(epoll)) {}

  FileDescriptor epoll_;
  int watched_ = 0;
};

}  // namespace lockstep::ddprun

#endif  // LOCKSTEP_TOOLS_DDPRUN_DEATH_ORDER_H_
