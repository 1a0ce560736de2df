// One thread a process that looks after all its communicators now and then, for what no event tells of.
#ifndef LOCKSTEP_TRANSPORTS_GLOO_WATCH_THREAD_H_
#define LOCKSTEP_TRANSPORTS_GLOO_WATCH_THREAD_H_

#include <functional>

namespace lockstep {

// Has `look` called about every 50 ms by the process' watch thread ("ls-watch"), which lives while there is anything to watch.
// Looks take turns: one that waits for a store delays the others.
class Watched {
 public:
  explicit Watched(std::function<void()> look);
  // Waits for a look in progress; none begins after it.
  ~Watched();
  Watched(const Watched&) = delete;
  Watched& operator=(const Watched&) = delete;

 private:
  friend class WatchThread;
  const std::function<void()> look_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_TRANSPORTS_GLOO_WATCH_THREAD_H_
