// Runs a rank's operations one after the other on a thread of its own, while the rank goes on: what a transport needs whose
// operations block.
//
//   class GlooCommunicator : public HostCommunicator, private OperationQueue::Executor { ... OperationQueue queue_; };
//
// Push is wait-free while fewer than kCapacity operations are pending, allocates nothing, and makes one system call at most:
// the wake of a sleeping thread. The first failure, or Abort, ends that operation and all later ones with its status.
#ifndef LOCKSTEP_TRANSPORTS_HOST_OPERATION_QUEUE_H_
#define LOCKSTEP_TRANSPORTS_HOST_OPERATION_QUEUE_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "transports/host/event_count.h"
#include "transports/host/operation.h"

namespace lockstep {

// One thread at a time pushes; any thread waits or aborts.
class OperationQueue {
 public:
  // What a transport does with an operation.
  class Executor {
   public:
    virtual ~Executor() = default;
    // Runs the operations, one or a group that starts together, to their end, which their deadlines bound. On the queue's
    // thread. The status says all that a user needs. Sets `sources` to the ranks that receives took their messages from.
    virtual absl::Status Execute(absl::Span<const Operation* const> operations, absl::Span<int> sources) = 0;
    // Ends an Execute in progress, and any later one, within milliseconds. Any thread, more than once.
    virtual void Interrupt() = 0;
    // Tells peers why this rank gives up. Once, on the queue's thread, when what was pending has ended.
    virtual void GiveUp(const absl::Status& why) = 0;
  };

  static constexpr int64_t kCapacity = 1024;
  // How long after its deadline an executor may take to say whom it waited for, before a waiter ends the operation itself.
  static constexpr absl::Duration kGrace = absl::Seconds(10);

  // The thread is called `thread_name` (15 bytes at most). `executor` outlives the queue.
  OperationQueue(int rank, Executor& executor, absl::string_view thread_name, absl::Duration grace = kGrace);
  // Interrupts what is pending, and joins the thread.
  ~OperationQueue();
  OperationQueue(const OperationQueue&) = delete;
  OperationQueue& operator=(const OperationQueue&) = delete;

  // One operation or a group, of kCapacity at most. Their sequence numbers follow those before, from 0 on. Waits for places if
  // too many operations are pending.
  void Push(absl::Span<const Operation> operations);
  absl::Status Wait(int64_t sequence);
  bool Done(int64_t sequence) const { return finished_.load(std::memory_order_acquire) > sequence; }
  int Source(int64_t sequence) const;   // as Work::source
  void Abort(const absl::Status& why);  // `why` is an error
  absl::Status health() const;

 private:
  struct Slot {
    Operation operation;
    std::atomic<int64_t> deadline_ns{0};  // a copy that waiters read while a later operation may take the slot
    std::atomic<int> source{-1};          // likewise
  };

  Slot& SlotOf(int64_t sequence) const { return (*ring_)[static_cast<size_t>(sequence % kCapacity)]; }
  void Drive();
  // Runs or refuses the operations from `sequence` on that start together; false if they failed.
  bool Run(int64_t sequence, int count);
  // Sets the failure if there is none yet.
  void Fail(const absl::Status& why);
  void Expire(int64_t sequence);

  const int rank_;
  const absl::Duration grace_;
  Executor& executor_;

  const std::unique_ptr<std::array<Slot, kCapacity>> ring_ = std::make_unique<std::array<Slot, kCapacity>>();
  // Each count is written by one thread, with release after what it counts, and read with acquire before that is looked at.
  std::atomic<int64_t> started_{0};
  std::atomic<int64_t> finished_{0};
  std::atomic<int64_t> failed_from_;  // operations from here on end with failure_; set before finished_ passes it
  std::atomic<bool> failed_{false};   // failure_ is set
  std::atomic<bool> stop_{false};
  std::vector<const Operation*> together_;  // what runs; by the queue's thread alone
  std::vector<int> sources_;
  EventCount to_do_;
  EventCount done_;

  mutable absl::Mutex mu_;
  absl::Status failure_ ABSL_GUARDED_BY(mu_);

  std::thread thread_;  // last: it uses all of the above
};

}  // namespace lockstep

#endif  // LOCKSTEP_TRANSPORTS_HOST_OPERATION_QUEUE_H_
