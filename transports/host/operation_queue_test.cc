// The queue that runs a rank's operations: order, failures, abort, deadlines, with an executor that does what it is told.
#include "transports/host/operation_queue.h"

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status_matchers.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "transports/host/event_count.h"

namespace lockstep {
namespace {

using ::absl_testing::StatusIs;
using ::testing::HasSubstr;

// Notes what it runs. An operation with tag 1 fails, one with tag 2 waits to be interrupted.
class ScriptedExecutor : public OperationQueue::Executor {
 public:
  absl::Status Execute(absl::Span<const Operation* const> operations, absl::Span<int>) override {
    absl::MutexLock lock(&mu_);
    ++calls_;
    for (const Operation* each : operations) ran_.push_back(each->sequence);
    const Operation& operation = *operations[0];
    if (operation.tag == 1) return absl::UnavailableError("scripted failure");
    if (operation.tag != 2) return absl::OkStatus();
    blocked_.Notify();
    mu_.Await(absl::Condition(&interrupted_));
    return absl::InternalError("interrupted");
  }
  void Interrupt() override {
    absl::MutexLock lock(&mu_);
    interrupted_ = true;
  }
  void GiveUp(const absl::Status& why) override {
    absl::MutexLock lock(&mu_);
    gave_up_.push_back(why);
  }
  std::vector<int64_t> ran() {
    absl::MutexLock lock(&mu_);
    return ran_;
  }
  int64_t calls() {
    absl::MutexLock lock(&mu_);
    return calls_;
  }
  std::vector<absl::Status> gave_up() {
    absl::MutexLock lock(&mu_);
    return gave_up_;
  }
  void WaitUntilBlocked() { blocked_.WaitForNotification(); }

 private:
  absl::Mutex mu_;
  absl::Notification blocked_;
  bool interrupted_ = false;
  int64_t calls_ = 0;
  std::vector<int64_t> ran_;
  std::vector<absl::Status> gave_up_;
};

Operation Tagged(int tag, absl::Duration timeout = absl::Minutes(1)) {
  Operation operation;
  operation.tag = tag;
  operation.deadline = absl::Now() + timeout;
  return operation;
}

void Push(OperationQueue& queue, const Operation& operation) { queue.Push(absl::MakeConstSpan(&operation, 1)); }

TEST(OperationQueue, RunsEverythingInOrderAlsoBeyondItsCapacity) {
  ScriptedExecutor executor;
  OperationQueue queue(0, executor, "test");
  constexpr int64_t kMany = 5 * OperationQueue::kCapacity + 3;
  for (int64_t i = 0; i < kMany; ++i) Push(queue, Tagged(0));
  ABSL_EXPECT_OK(queue.Wait(kMany - 1));
  const std::vector<int64_t> ran = executor.ran();
  ASSERT_EQ(ran.size(), static_cast<size_t>(kMany));
  for (int64_t i = 0; i < kMany; ++i) ASSERT_EQ(ran[i], i);
  ABSL_EXPECT_OK(queue.Wait(0));  // its place was taken long ago
  ABSL_EXPECT_OK(queue.health());
}

TEST(OperationQueue, AGroupIsHandedOverWholeAlsoAcrossTheEndOfTheRing) {
  ScriptedExecutor executor;
  OperationQueue queue(0, executor, "test");
  for (int64_t i = 0; i < OperationQueue::kCapacity - 2; ++i) Push(queue, Tagged(0));
  for (const int size : {5, static_cast<int>(OperationQueue::kCapacity)}) {
    std::vector<Operation> group(static_cast<size_t>(size), Tagged(0));
    for (int i = 0; i < size; ++i) group[static_cast<size_t>(i)].group_left = size - 1 - i;
    queue.Push(group);
  }
  const int64_t last = 2 * OperationQueue::kCapacity + 2;
  ABSL_EXPECT_OK(queue.Wait(last));
  EXPECT_EQ(executor.ran().size(), static_cast<size_t>(last + 1));
  EXPECT_EQ(executor.calls(), OperationQueue::kCapacity);  // the two groups count as one call each
}

TEST(OperationQueue, AFailureEndsItsOperationAndAllLaterOnesAndNoneBefore) {
  ScriptedExecutor executor;
  {
    OperationQueue queue(0, executor, "test");
    Push(queue, Tagged(0));
    Push(queue, Tagged(1));
    Push(queue, Tagged(0));
    ABSL_EXPECT_OK(queue.Wait(0));
    const auto failed = StatusIs(absl::StatusCode::kUnavailable, HasSubstr("scripted failure"));
    EXPECT_THAT(queue.Wait(2), failed);
    EXPECT_THAT(queue.Wait(1), failed);
    ABSL_EXPECT_OK(queue.Wait(0));
    Push(queue, Tagged(0));
    EXPECT_THAT(queue.Wait(3), failed);
    EXPECT_THAT(queue.health(), failed);
  }
  EXPECT_THAT(executor.ran(), ::testing::ElementsAre(0, 1));
  EXPECT_EQ(executor.gave_up().size(), 1u);
}

TEST(OperationQueue, AbortEndsWhatRunsAndWhatWaitsWithItsStatus) {
  ScriptedExecutor executor;
  OperationQueue queue(0, executor, "test");
  Push(queue, Tagged(2));
  Push(queue, Tagged(0));
  executor.WaitUntilBlocked();
  std::thread aborter([&] { queue.Abort(absl::CancelledError("enough")); });
  EXPECT_THAT(queue.Wait(1), StatusIs(absl::StatusCode::kCancelled, "enough"));
  EXPECT_THAT(queue.Wait(0), StatusIs(absl::StatusCode::kCancelled, "enough"));
  aborter.join();
  queue.Abort(absl::InternalError("too late: the first call counts"));
  EXPECT_THAT(queue.health(), StatusIs(absl::StatusCode::kCancelled));
  EXPECT_THAT(executor.ran(), ::testing::ElementsAre(0));
}

TEST(OperationQueue, AnIdleQueueTellsItsPeersThatItWasAborted) {
  ScriptedExecutor executor;
  {
    OperationQueue queue(0, executor, "test");
    queue.Abort(absl::CancelledError("enough"));
  }
  EXPECT_THAT(executor.gave_up(), ::testing::ElementsAre(StatusIs(absl::StatusCode::kCancelled)));
}

TEST(OperationQueue, AnExecutorThatOverrunsTheDeadlineIsEndedByTheWaiter) {
  ScriptedExecutor executor;
  OperationQueue queue(3, executor, "test", /*grace=*/absl::Milliseconds(20));
  Push(queue, Tagged(2, absl::Milliseconds(1)));
  EXPECT_THAT(queue.Wait(0), StatusIs(absl::StatusCode::kDeadlineExceeded, HasSubstr("rank 3")));
}

TEST(OperationQueue, DestructionInterruptsWhatIsPending) {
  ScriptedExecutor executor;
  {
    OperationQueue queue(0, executor, "test");
    Push(queue, Tagged(2));
    Push(queue, Tagged(0));
  }
  ASSERT_EQ(executor.gave_up().size(), 1u);
  EXPECT_THAT(executor.gave_up()[0], StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("closed")));
}

TEST(EventCount, NoNotificationIsLostBetweenTwoThreadsThatTakeTurns) {
  std::atomic<int> turn{0};
  EventCount events;
  constexpr int kTurns = 20'000;
  const auto play = [&](int own) {
    for (int i = own; i < kTurns; i += 2) {
      ASSERT_TRUE(events.Wait([&] { return turn.load() == i; }, absl::Now() + absl::Minutes(1))) << i;
      turn.store(i + 1);
      events.Notify();
    }
  };
  std::thread other(play, 1);
  play(0);
  other.join();
  EXPECT_FALSE(events.Wait([] { return false; }, absl::Now() + absl::Milliseconds(1)));
}

}  // namespace
}  // namespace lockstep
