#include "transports/gloo/watch_thread.h"

#include <pthread.h>

#include <algorithm>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "transports/net/blocked_signals.h"

namespace lockstep {
namespace {

constexpr absl::Duration kPeriod = absl::Milliseconds(50);

}  // namespace

class WatchThread {
 public:
  static WatchThread& OfThisProcess() {
    static auto* const instance = new WatchThread;
    return *instance;
  }

  void Add(const Watched* watched) {
    absl::MutexLock life(&life_);
    {
      absl::MutexLock lock(&mu_);
      watched_.push_back(watched);
    }
    if (thread_.joinable()) return;
    const BlockedSignals blocked;
    thread_ = std::thread([this] { Run(); });
  }

  void Remove(const Watched* watched) {
    absl::MutexLock life(&life_);
    {
      absl::MutexLock lock(&mu_);
      watched_.erase(std::find(watched_.begin(), watched_.end(), watched));
      if (!watched_.empty()) return;
    }
    thread_.join();  // it ends when it finds nothing to watch
  }

 private:
  void Run() {
    pthread_setname_np(pthread_self(), "ls-watch");
    const auto is_empty = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { return watched_.empty(); };
    absl::MutexLock lock(&mu_);
    while (!mu_.AwaitWithTimeout(absl::Condition(&is_empty), kPeriod)) {
      for (const Watched* watched : watched_) watched->look_();
    }
  }

  absl::Mutex life_;  // of the thread; before mu_
  std::thread thread_ ABSL_GUARDED_BY(life_);
  absl::Mutex mu_;
  std::vector<const Watched*> watched_ ABSL_GUARDED_BY(mu_);
};

Watched::Watched(std::function<void()> look) : look_(std::move(look)) { WatchThread::OfThisProcess().Add(this); }
Watched::~Watched() { WatchThread::OfThisProcess().Remove(this); }

}  // namespace lockstep
