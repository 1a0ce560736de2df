// The engine over a transport with threads of its own: overlap, and a step that is left in the middle.
#include <memory>
#include <vector>

#include "absl/status/status_matchers.h"
#include "absl/strings/str_cat.h"
#include "ddp/buffer_model.h"
#include "ddp/distributed_data_parallel.h"
#include "ddp/testing/rank_threads.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "transports/registry.h"

namespace lockstep {
namespace {

using ::absl_testing::StatusIs;

// `parameters` arrays of `elements`.
class Net {
 public:
  Net(int parameters, int64_t elements) : values_(parameters, std::vector<float>(elements)) {
    for (int p = 0; p < parameters; ++p) {
      model.AddParameter(absl::StrCat("p", p), {elements}, MakeBuffer(absl::MakeSpan(values_[p])));
    }
  }
  void Backward(int first, int last) {
    for (int p = last; p >= first; --p) {
      for (float& g : model.Gradient<float>(p)) g = 1;
      model.MarkReady(p);
    }
  }
  BufferModel model;

 private:
  std::vector<std::vector<float>> values_;
};

TEST(EngineOverGloo, EveryBucketButTheLastStartsInsideBackwardInEveryStepFromTheFirst) {
  ABSL_ASSERT_OK_AND_ASSIGN(const auto gloo, CreateTransport("gloo"));
  RunRanks(
      2,
      [](std::shared_ptr<ProcessGroup> group) {
        Net net(8, 512);  // 2 KiB each: two fill a bucket of 4 KiB
        ABSL_ASSERT_OK_AND_ASSIGN(auto ddp, DistributedDataParallel::Create(group, net.model, {4 << 10, 4 << 10}));
        for (int step = 1; step <= 10; ++step) {
          DdpStep open = ddp.BeginStep({.weight = static_cast<double>(step)});
          net.Backward(0, 7);
          net.model.EndBackward();
          ABSL_ASSERT_OK(open.Finish());
          EXPECT_EQ(ddp.stats().buckets_reduced, 4 * step);
          EXPECT_EQ(ddp.stats().buckets_started_in_backward, 3 * step);
          EXPECT_EQ(net.model.Gradient<float>(3)[511], 1);
        }
      },
      gloo.get());
}

// Its bucket of 25 MiB is on its way, in memory that goes with the engine.
TEST(EngineOverGloo, AnEngineLeftInTheMiddleOfAStepWaitsUntilNobodyTouchesItsMemory) {
  ABSL_ASSERT_OK_AND_ASSIGN(const auto gloo, CreateTransport("gloo"));
  RunRanks(
      2,
      [](std::shared_ptr<ProcessGroup> group) {
        Net net(2, 25 << 18);
        ABSL_ASSERT_OK_AND_ASSIGN(auto ddp, DistributedDataParallel::Create(group, net.model, {1, 1}));
        DdpStep open = ddp.BeginStep({.weight = 3});
        net.Backward(1, 1);
        if (group->rank() == 0) return;  // an exception, say
        net.Backward(0, 0);
        net.model.EndBackward();
        EXPECT_THAT(open.Finish(), StatusIs(absl::StatusCode::kUnavailable));
      },
      gloo.get());
}

}  // namespace
}  // namespace lockstep
