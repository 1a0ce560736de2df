#include "transports/host/operation_queue.h"

#include <pthread.h>

#include <limits>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "transports/net/blocked_signals.h"

namespace lockstep {
OperationQueue::OperationQueue(int rank, Executor& executor, absl::string_view thread_name, absl::Duration grace)
    : rank_(rank), grace_(grace), executor_(executor), failed_from_(std::numeric_limits<int64_t>::max()) {
  const BlockedSignals blocked;
  thread_ = std::thread([this, name = std::string(thread_name)] {
    pthread_setname_np(pthread_self(), name.c_str());
    Drive();
  });
}

OperationQueue::~OperationQueue() {
  if (!failed_.load() && finished_.load() < started_.load()) {
    Abort(absl::FailedPreconditionError(absl::StrCat("rank ", rank_, ": the communicator was closed")));
  }
  stop_.store(true);
  to_do_.Notify();
  thread_.join();  // soon: what it runs was interrupted
}

void OperationQueue::Push(absl::Span<const Operation> operations) {
  const int64_t first = started_.load(std::memory_order_relaxed), end = first + static_cast<int64_t>(operations.size());
  if (!Done(end - 1 - kCapacity)) Wait(end - 1 - kCapacity).IgnoreError();  // its own waiters are told
  for (int64_t sequence = first; sequence < end; ++sequence) {
    Slot& slot = SlotOf(sequence);
    slot.operation = operations[static_cast<size_t>(sequence - first)];
    slot.operation.sequence = sequence;
    slot.source.store(-1, std::memory_order_relaxed);
    slot.deadline_ns.store(absl::ToUnixNanos(slot.operation.deadline), std::memory_order_relaxed);
  }
  started_.store(end, std::memory_order_release);
  to_do_.Notify();
}

absl::Status OperationQueue::Wait(int64_t sequence) {
  const auto is_done = [&] { return Done(sequence); };
  const absl::Time deadline = absl::FromUnixNanos(SlotOf(sequence).deadline_ns.load(std::memory_order_relaxed));
  // If the slot has been taken by a later operation meanwhile, the deadline is not ours, but then we are done.
  if (!done_.Wait(is_done, deadline + grace_)) {
    Expire(sequence);  // which interrupts the executor
    done_.Wait(is_done, absl::InfiniteFuture());
  }
  return sequence < failed_from_.load(std::memory_order_acquire) ? absl::OkStatus() : health();
}

void OperationQueue::Expire(int64_t sequence) {
  const int64_t head = finished_.load(std::memory_order_acquire);
  Abort(absl::DeadlineExceededError(absl::StrCat(
      "rank ", rank_, ": operation ", sequence, " did not end by its deadline",
      head < sequence ? absl::StrCat("; operation ", head, ", issued before it, has not ended either, and has a later one")
                      : "")));
}

int OperationQueue::Source(int64_t sequence) const {
  if (!Done(sequence) || started_.load(std::memory_order_acquire) > sequence + kCapacity) return -1;
  return SlotOf(sequence).source.load(std::memory_order_relaxed);
}

void OperationQueue::Abort(const absl::Status& why) {
  Fail(why);
  executor_.Interrupt();
  to_do_.Notify();
}

void OperationQueue::Fail(const absl::Status& why) {
  absl::MutexLock lock(&mu_);
  if (!failure_.ok()) return;
  failure_ = why;
  failed_.store(true, std::memory_order_release);
}

absl::Status OperationQueue::health() const {
  absl::MutexLock lock(&mu_);
  return failure_;
}

void OperationQueue::Drive() {
  bool gave_up = false;
  for (int64_t sequence = 0;;) {
    const auto has_operation = [&] { return started_.load(std::memory_order_acquire) > sequence; };
    to_do_.Wait([&] { return has_operation() || stop_.load() || (failed_.load() && !gave_up); }, absl::InfiniteFuture());
    if (has_operation()) {
      const int count = 1 + SlotOf(sequence).operation.group_left;
      if (!Run(sequence, count) && failed_from_.load() > sequence) failed_from_.store(sequence);
      sequence += count;
      finished_.store(sequence, std::memory_order_release);
      done_.Notify();
    }
    if (failed_.load() && !gave_up && !has_operation()) {
      gave_up = true;
      executor_.GiveUp(health());
    }
    if (stop_.load() && !has_operation()) return;
  }
}

bool OperationQueue::Run(int64_t sequence, int count) {
  if (failed_.load(std::memory_order_acquire)) return false;
  together_.clear();
  for (int i = 0; i < count; ++i) together_.push_back(&SlotOf(sequence + i).operation);
  sources_.assign(static_cast<size_t>(count), -1);
  const absl::Status status = executor_.Execute(together_, absl::MakeSpan(sources_));
  if (!status.ok()) Fail(status);
  for (int i = 0; i < count; ++i) {  // read once finished_ has passed them
    SlotOf(sequence + i).source.store(sources_[static_cast<size_t>(i)], std::memory_order_relaxed);
  }
  return status.ok();
}

}  // namespace lockstep
