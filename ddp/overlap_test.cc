// Communication runs while backward does: what starts when, in which order, as the transport sees it.
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status_matchers.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "ddp/buffer_model.h"
#include "ddp/distributed_data_parallel.h"
#include "ddp/testing/rank_threads.h"
#include "ddp/testing/recording_transport.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "transports/registry.h"

namespace lockstep {
namespace {

constexpr int kWorld = 2;
constexpr int kSteps = 6;
// 4 KiB: two parameters of 2 KiB fill a bucket.
constexpr DdpOptions kFourKiB = {4 << 10, 4 << 10};
constexpr int kParameters = 8;
constexpr int kElements = 512;

// What happened on each rank, in order.
class Timeline {
 public:
  void Add(int rank, std::string event) {
    absl::MutexLock lock(&mu_);
    events_[rank].push_back(std::move(event));
  }
  void Started(const StartedOperation& op) { Add(op.rank, std::string(op.name)); }
  std::vector<std::string> Take(int rank) {
    absl::MutexLock lock(&mu_);
    return std::exchange(events_[rank], {});
  }

 private:
  absl::Mutex mu_;
  std::vector<std::string> events_[kWorld] ABSL_GUARDED_BY(mu_);
};

class Net {
 public:
  Net() {
    for (int p = 0; p < kParameters; ++p) {
      values_.emplace_back(kElements);
      model.AddParameter(absl::StrCat("p", p), {kElements}, MakeBuffer(absl::MakeSpan(values_.back())));
    }
  }
  void Backward(const std::function<void(int)>& after_each) {
    for (int p = kParameters - 1; p >= 0; --p) {
      for (float& g : model.Gradient<float>(p)) g = 1;
      model.MarkReady(p);
      after_each(p);
    }
  }
  BufferModel model;

 private:
  std::vector<std::vector<float>> values_;
};

// Runs `body` on each rank with an engine over a transport that fills `timeline`, from which construction is left out.
void RunRecorded(const std::function<void(int rank, DistributedDataParallel& ddp, Net& net, Timeline& timeline)>& body) {
  Timeline timeline;
  ABSL_ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Transport> in_process, CreateTransport("in_process"));
  RecordingTransport recording(*in_process, [&](const StartedOperation& op) { timeline.Started(op); });
  RunRanks(
      kWorld,
      [&](std::shared_ptr<ProcessGroup> group) {
        Net net;
        ABSL_ASSERT_OK_AND_ASSIGN(auto ddp, DistributedDataParallel::Create(group, net.model, kFourKiB));
        timeline.Take(group->rank());
        body(group->rank(), ddp, net, timeline);
      },
      &recording);
}

TEST(Overlap, EachBucketStartsInsideTheHookOfItsLastGradientInEveryStepFromTheFirst) {
  RunRecorded([](int rank, DistributedDataParallel& ddp, Net& net, Timeline& timeline) {
    for (int step = 0; step < kSteps; ++step) {
      DdpStep open = ddp.BeginStep();
      timeline.Add(rank, "forward");
      net.Backward([&](int p) { timeline.Add(rank, absl::StrCat("p", p)); });
      net.model.EndBackward();
      timeline.Add(rank, "end");
      ABSL_ASSERT_OK(open.Finish());
      // The last bucket carries the ranks' reports on the step, and waits for Finish.
      EXPECT_THAT(timeline.Take(rank), testing::ElementsAre("forward", "p7", "bucket 0", "p6", "p5", "bucket 1", "p4", "p3",
                                                            "bucket 2", "p2", "p1", "p0", "end", "bucket 3"))
          << "step " << step;
    }
    EXPECT_EQ(ddp.stats().buckets_reduced, 4 * kSteps);
    EXPECT_EQ(ddp.stats().buckets_started_in_backward, 3 * kSteps);
  });
}

// Gradients become ready in another order on each rank; buckets still start in one.
TEST(Overlap, BucketsStartInTheSameOrderOnAllRanksWhateverTheOrderOfGradients) {
  RunRecorded([](int rank, DistributedDataParallel& ddp, Net& net, Timeline& timeline) {
    for (int step = 0; step < kSteps; ++step) {
      DdpStep open = ddp.BeginStep();
      for (int i = 0; i < kParameters; ++i) {
        const int p = rank == 0 ? i : (i * 5 + step) % kParameters;
        for (float& g : net.model.Gradient<float>(p)) g = static_cast<float>(p + rank);
        net.model.MarkReady(p);
      }
      net.model.EndBackward();
      ABSL_ASSERT_OK(open.Finish());
      EXPECT_THAT(timeline.Take(rank), testing::ElementsAre("bucket 0", "bucket 1", "bucket 2", "bucket 3"));
      for (int p = 0; p < kParameters; ++p) EXPECT_EQ(net.model.Gradient<float>(p)[kElements - 1], p + 0.5f);
    }
  });
}

// Accumulating steps move nothing.
TEST(Overlap, AStepWithoutSyncStartsNoOperation) {
  RunRecorded([](int rank, DistributedDataParallel& ddp, Net& net, Timeline& timeline) {
    DdpStep open = ddp.BeginStep({1, false});
    net.Backward([](int) {});
    net.model.EndBackward();
    ABSL_ASSERT_OK(open.Finish());
    EXPECT_THAT(timeline.Take(rank), testing::IsEmpty());
  });
}

}  // namespace
}  // namespace lockstep
