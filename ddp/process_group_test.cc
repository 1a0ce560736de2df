#include "ddp/process_group.h"

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status_matchers.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "ddp/solo_communicator.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

using absl_testing::StatusIs;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

RankInfo Alone() {
  RankInfo info;
  info.host = "lonely";
  return info;
}

ProcessGroup GroupOfOne() { return ProcessGroup(Alone(), "none", std::make_unique<SoloCommunicator>(), nullptr); }

template <typename T>
Buffer All(std::vector<T>& elements) {
  return MakeBuffer(absl::MakeSpan(elements));
}

TEST(ProcessGroup, OfOneTellsWhoItIs) {
  ProcessGroup group = GroupOfOne();
  EXPECT_EQ(group.rank(), 0);
  EXPECT_EQ(group.size(), 1);
  EXPECT_EQ(group.info().host, "lonely");
  EXPECT_EQ(group.backend(), "none");
}

TEST(ProcessGroup, OfOneReducesToWhatWasThereForEveryOperation) {
  ProcessGroup group = GroupOfOne();
  for (int op = 0; op < kNumReduceOps; ++op) {
    std::vector<int32_t> elements = {-3, 5};
    const absl::Status status = group.AllReduce(All(elements), static_cast<ReduceOp>(op));
    EXPECT_EQ(status.ok(), static_cast<ReduceOp>(op) != ReduceOp::kPremulSum) << status;
    EXPECT_THAT(elements, ElementsAre(-3, 5)) << op;
  }
}

TEST(ProcessGroup, OfOneMultipliesByThePremultiplier) {
  ProcessGroup group = GroupOfOne();
  std::vector<float> floats = {1, -3};
  std::vector<double> doubles = {1, -3};
  ABSL_EXPECT_OK(group.AllReduce(All(floats), ReduceOp::kPremulSum, {.premultiplier = 0.5}));
  ABSL_EXPECT_OK(group.AllReduce(All(doubles), ReduceOp::kPremulSum, {.premultiplier = 0.5}));
  EXPECT_THAT(floats, ElementsAre(0.5f, -1.5f));
  EXPECT_THAT(doubles, ElementsAre(0.5, -1.5));
}

TEST(ProcessGroup, OfOneGathersAndBroadcastsItsOwn) {
  ProcessGroup group = GroupOfOne();
  std::vector<int64_t> in = {7, 8}, out = {0, 0};
  ABSL_EXPECT_OK(group.AllGather(All(in), All(out)));
  EXPECT_THAT(out, ElementsAre(7, 8));
  ABSL_EXPECT_OK(group.AllGather(All(out), All(out)));
  ABSL_EXPECT_OK(group.Broadcast(All(out), 0));
  ABSL_EXPECT_OK(group.Barrier());
  EXPECT_THAT(out, ElementsAre(7, 8));
}

TEST(ProcessGroup, BuffersWithoutElementsAreFine) {
  ProcessGroup group = GroupOfOne();
  Buffer empty;
  ABSL_EXPECT_OK(group.AllReduce(empty, ReduceOp::kSum));
  ABSL_EXPECT_OK(group.AllGather(empty, empty));
  ABSL_EXPECT_OK(group.Broadcast(empty, 0));
}

TEST(ProcessGroup, ErrorsNameRankAndHostOnce) {
  ProcessGroup group = GroupOfOne();
  std::vector<float> elements = {1};
  const absl::Status status = group.Broadcast(All(elements), 1, {.name = "weights"});
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kInvalidArgument,
                               AllOf(StartsWith("rank 0 (host lonely): broadcast \"weights\" (from rank 1, f32[1]): "),
                                     HasSubstr("no rank 1"))));
  EXPECT_EQ(status.message().rfind("(host lonely)"), status.message().find("(host lonely)"));
}

TEST(ProcessGroup, ARefusedCallLeavesTheGroupUsable) {
  ProcessGroup group = GroupOfOne();
  std::vector<float> four = {1, 2, 3, 4}, two = {0, 0};
  std::vector<double> doubles = {0, 0};
  const auto refused = StatusIs(absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(group.AllGather(All(four), All(two)), refused);
  EXPECT_THAT(group.AllGather(All(two), All(doubles)), refused);
  EXPECT_THAT(
      group.AllGather(Buffer{four.data(), 3, DType::kF32, Device()}, Buffer{four.data() + 1, 3, DType::kF32, Device()}),
      refused);
  EXPECT_THAT(group.AllReduce(Buffer{nullptr, 1, DType::kF32, Device()}, ReduceOp::kSum), refused);
  EXPECT_THAT(group.AllReduce(Buffer{four.data(), -1, DType::kF32, Device()}, ReduceOp::kSum), refused);
  EXPECT_THAT(group.AllReduce(Buffer{four.data(), 1, DType::kF32, {DeviceType::kCuda, 1}}, ReduceOp::kSum),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("cuda:1")));
  EXPECT_THAT(group.AllReduce(All(four), ReduceOp::kBand), refused);
  EXPECT_THAT(group.AllReduce(All(four), ReduceOp::kSum, {.timeout = absl::Seconds(-1)}), refused);
  EXPECT_THAT(group.Broadcast(All(four), -1), refused);
  EXPECT_THAT(group.Send(All(four), 0, 0), refused);
  EXPECT_THAT(group.Recv(All(four), 1, 0), refused);
  EXPECT_THAT(group.Send(All(four), 0, -1), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("tag -1")));
  EXPECT_THAT(group.Recv(All(four), 0, 1 << 16), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("tag 65536")));
  ABSL_EXPECT_OK(group.AllReduce(All(four), ReduceOp::kSum));
  EXPECT_THAT(four, ElementsAre(1, 2, 3, 4));
}

TEST(ProcessGroup, EveryCallAfterDestroyIsFailedPrecondition) {
  ProcessGroup group = GroupOfOne();
  ABSL_ASSERT_OK(group.Destroy());
  std::vector<float> one = {1}, other = {0};
  const auto misuse = StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("after Destroy"));
  EXPECT_THAT(group.Destroy(), misuse);
  EXPECT_THAT(group.NewCommunicator(), misuse);
  EXPECT_THAT(group.AllReduce(All(one), ReduceOp::kSum), misuse);
  EXPECT_THAT(group.AllGather(All(one), All(other)), misuse);
  EXPECT_THAT(group.Broadcast(All(one), 0), misuse);
  EXPECT_THAT(group.Barrier(), misuse);
  EXPECT_THAT(group.Send(All(one), 1, 0), misuse);
  EXPECT_THAT(group.Recv(All(one), 1, 0), misuse);
  EXPECT_EQ(group.size(), 1);
}

TEST(SoloCommunicator, AWorkKeepsItsOwnErrorWhileOthersPass) {
  SoloCommunicator communicator;
  std::vector<float> one = {1};
  const Work good = communicator.Barrier({});
  const Work bad = communicator.Broadcast(All(one), 3, {});
  const Work later = communicator.Barrier({});
  EXPECT_TRUE(good.Done() && bad.Done() && later.Done());
  ABSL_EXPECT_OK(good.Wait());
  EXPECT_THAT(bad.Wait(), StatusIs(absl::StatusCode::kInvalidArgument));
  ABSL_EXPECT_OK(later.Wait());
  ABSL_EXPECT_OK(communicator.health());
}

TEST(SoloCommunicator, EverythingAfterAbortEndsWithItsReasonAndTouchesNothing) {
  SoloCommunicator communicator;
  std::vector<float> in = {1}, out = {0};
  const Work before = communicator.Barrier({});
  const absl::Status why = absl::CancelledError("enough");
  communicator.Abort(why);
  communicator.Abort(absl::InternalError("too late"));
  EXPECT_EQ(communicator.AllReduce(All(in), All(out), ReduceOp::kSum, {}).Wait(), why);
  EXPECT_EQ(communicator.AllGather(All(in), All(out), {}).Wait(), why);
  EXPECT_EQ(communicator.Broadcast(All(in), 9, {}).Wait(), why);
  EXPECT_EQ(communicator.Barrier({}).Wait(), why);
  EXPECT_EQ(communicator.Send(All(in), 1, 0, {}).Wait(), why);
  EXPECT_EQ(communicator.Recv(All(in), 1, 0, {}).Wait(), why);
  EXPECT_EQ(communicator.Split(0, 0).status(), why);
  EXPECT_EQ(communicator.CreateArena(8).status(), why);
  EXPECT_EQ(communicator.health(), why);
  ABSL_EXPECT_OK(before.Wait());
  EXPECT_THAT(out, ElementsAre(0));
}

TEST(SoloCommunicator, AnArenaIsAlignedZeroedAndAsLongAsAsked) {
  SoloCommunicator communicator;
  for (int64_t bytes : {0, 1, 127, 128, 129, 100000}) {
    ABSL_ASSERT_OK_AND_ASSIGN(Arena arena, communicator.CreateArena(bytes));
    EXPECT_EQ(arena.bytes(), bytes);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(arena.data()) % Arena::kAlignment, 0);
    EXPECT_EQ(std::string(static_cast<char*>(arena.data()), bytes), std::string(bytes, '\0'));
  }
  EXPECT_THAT(communicator.CreateArena(-1), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(communicator.CreateArena(std::numeric_limits<int64_t>::max()), StatusIs(absl::StatusCode::kResourceExhausted));
}

TEST(SoloCommunicator, SplitGivesMembersACommunicatorAndOthersNone) {
  SoloCommunicator communicator;
  ABSL_ASSERT_OK_AND_ASSIGN(auto member, communicator.Split(5, 0));
  ABSL_ASSERT_OK_AND_ASSIGN(auto outsider, communicator.Split(-1, 0));
  EXPECT_EQ(member->size(), 1);
  EXPECT_EQ(outsider, nullptr);
}

}  // namespace
}  // namespace lockstep
