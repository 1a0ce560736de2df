#include "tools/ddprun/death_order.h"

#include <sys/epoll.h>

#include <cerrno>

namespace lockstep::ddprun {

absl::StatusOr<DeathOrder> DeathOrder::Create() {
  FileDescriptor epoll(epoll_create1(EPOLL_CLOEXEC));
  if (!epoll.open()) return absl::ErrnoToStatus(errno, "cannot watch processes (epoll)");
  return DeathOrder(std::move(epoll));
}

absl::Status DeathOrder::Watch(int death_fd, int index) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u32 = index;
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, death_fd, &event) != 0) {
    return absl::ErrnoToStatus(errno, "cannot watch a process (epoll_ctl)");
  }
  ++watched_;
  return absl::OkStatus();
}

std::vector<int> DeathOrder::Ended() const {
  std::vector<int> ended;
  std::vector<epoll_event> events(watched_ + 1);  // room for all: what does not fit would be queued behind later ones
  const int count = epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), 0);
  for (int i = 0; i < count; ++i) ended.push_back(static_cast<int>(events[i].data.u32));
  return ended;
}

}  // namespace lockstep::ddprun
