// DistributedDataParallel::Create: which models it takes, and what every rank is told of one that it does not.
#include "ddp/distributed_data_parallel.h"

#include <functional>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/status_matchers.h"
#include "ddp/buffer_model.h"
#include "ddp/testing/rank_threads.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

using ::absl_testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

using BuildModel = std::function<void(int rank, BufferModel&, std::vector<double>& memory)>;

absl::Status SameCreateErrorOnAllRanks(const BuildModel& build, const DdpOptions& rank1_options = {}) {
  std::vector<absl::Status> all(3);
  RunRanks(3, [&](std::shared_ptr<ProcessGroup> group) {
    std::vector<double> memory(100);
    BufferModel model;
    build(group->rank(), model, memory);
    const DdpOptions options = group->rank() == 1 ? rank1_options : DdpOptions();
    all[group->rank()] = DistributedDataParallel::Create(group, model, options).status();
  });
  for (const absl::Status& status : all) EXPECT_EQ(status, all[0]);
  return all[0];
}

Buffer F64(std::vector<double>& memory, int64_t count) { return Buffer{memory.data(), count, DType::kF64, Device()}; }

TEST(BufferModelDeathTest, AGradientOfAnotherTypeIsNotHandedOut) {
  std::vector<float> values(4);
  BufferModel model;
  model.AddParameter("fc.weight", {4}, MakeBuffer(absl::MakeSpan(values)));
  EXPECT_TRUE(model.Gradient<float>(0).empty()) << "no engine has bound it";
  EXPECT_DEATH(model.Gradient<double>(0), "\"fc.weight\" is f32, its gradient was asked for as f64");
}

TEST(Create, NamesTheFirstParameterThatDiffersAndBothRanks) {
  const absl::Status status = SameCreateErrorOnAllRanks([](int rank, BufferModel& model, std::vector<double>& memory) {
    model.AddParameter("fc1.weight", {2, 3}, F64(memory, 6));
    model.AddParameter("fc1.bias", {rank == 1 ? 5 : 4}, F64(memory, rank == 1 ? 5 : 4));
  });
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kFailedPrecondition,
                               AllOf(HasSubstr("rank 0 has parameter 1: \"fc1.bias\" f64[4]"),
                                     HasSubstr("rank 1 has parameter 1: \"fc1.bias\" f64[5]"))));
}

TEST(Create, NamesParametersInAnotherOrder) {
  const absl::Status status = SameCreateErrorOnAllRanks([](int rank, BufferModel& model, std::vector<double>& memory) {
    model.AddParameter(rank == 2 ? "b" : "a", {4}, F64(memory, 4));
    model.AddParameter(rank == 2 ? "a" : "b", {4}, F64(memory, 4));
  });
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kFailedPrecondition, AllOf(HasSubstr("rank 0 has parameter 0: \"a\""),
                                                                            HasSubstr("rank 2 has parameter 0: \"b\""))));
}

TEST(Create, NamesADTypeThatDiffers) {
  const absl::Status status = SameCreateErrorOnAllRanks([](int rank, BufferModel& model, std::vector<double>& memory) {
    model.AddParameter("a", {4}, Buffer{memory.data(), 4, rank == 1 ? DType::kF32 : DType::kF64, Device()});
  });
  EXPECT_THAT(status,
              StatusIs(absl::StatusCode::kFailedPrecondition, AllOf(HasSubstr("rank 0 has parameter 0: \"a\" f64[4]"),
                                                                    HasSubstr("rank 1 has parameter 0: \"a\" f32[4]"))));
}

TEST(Create, NamesAParameterThatOneRankLacks) {
  const absl::Status status = SameCreateErrorOnAllRanks([](int rank, BufferModel& model, std::vector<double>& memory) {
    model.AddParameter("a", {4}, F64(memory, 4));
    if (rank != 2) model.AddParameter("b", {4}, F64(memory, 4));
  });
  EXPECT_THAT(status,
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("rank 0 has parameter 1: \"b\""), HasSubstr("rank 2 has nothing more (1 in all)"))));
}

TEST(Create, NamesAFrozenParameterAndABufferAndOptionsThatDiffer) {
  EXPECT_THAT(SameCreateErrorOnAllRanks([](int rank, BufferModel& model, std::vector<double>& memory) {
                model.AddParameter("a", {4}, F64(memory, 4));
                model.AddParameter("b", {4}, F64(memory, 4), /*requires_grad=*/rank != 1);
              }),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("without gradient")));
  EXPECT_THAT(SameCreateErrorOnAllRanks([](int rank, BufferModel& model, std::vector<double>& memory) {
                model.AddParameter("a", {4}, F64(memory, 4));
                model.AddBuffer("mean", {rank == 1 ? 2 : 3}, F64(memory, rank == 1 ? 2 : 3));
              }),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("buffer 0: \"mean\" f64[2]")));
  EXPECT_THAT(SameCreateErrorOnAllRanks(
                  [](int, BufferModel& model, std::vector<double>& memory) { model.AddParameter("a", {4}, F64(memory, 4)); },
                  DdpOptions{1 << 20, 1 << 10}),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("bucket_cap_bytes=26214400"), HasSubstr("bucket_cap_bytes=1024"))));
}

TEST(Create, RefusesAModelThatCannotBeTrained) {
  EXPECT_THAT(SameCreateErrorOnAllRanks([](int, BufferModel& model, std::vector<double>& memory) {
                model.AddParameter("a", {4}, F64(memory, 4), /*requires_grad=*/false);
              }),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("requires a gradient")));
  EXPECT_THAT(SameCreateErrorOnAllRanks([](int, BufferModel& model, std::vector<double>& memory) {
                model.AddParameter("a", {4}, F64(memory, 4));
                model.AddParameter("a", {4}, F64(memory, 4));
              }),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("named \"a\"")));
  EXPECT_THAT(SameCreateErrorOnAllRanks([](int, BufferModel& model, std::vector<double>& memory) {
                model.AddParameter("half", {4}, Buffer{memory.data(), 4, DType::kF16, Device()});
              }),
              StatusIs(absl::StatusCode::kInvalidArgument, AllOf(HasSubstr("\"half\""), HasSubstr("f16"))));
  EXPECT_THAT(SameCreateErrorOnAllRanks([](int, BufferModel& model, std::vector<double>& memory) {
                model.AddParameter("a", {4}, F64(memory, 3));
              }),
              StatusIs(absl::StatusCode::kInvalidArgument, AllOf(HasSubstr("\"a\""), HasSubstr("3"))));
}

TEST(Create, TakesEmptyAndScalarParametersAndSeveralDTypes) {
  RunRanks(2, [](std::shared_ptr<ProcessGroup> group) {
    std::vector<double> wide(6, group->rank());
    std::vector<float> narrow(2, static_cast<float>(group->rank()));
    BufferModel model;
    model.AddParameter("empty", {0}, F64(wide, 0));
    model.AddParameter("scalar", {}, F64(wide, 1));
    model.AddParameter("f32", {2}, MakeBuffer(absl::MakeSpan(narrow)));
    ABSL_ASSERT_OK_AND_ASSIGN(auto ddp, DistributedDataParallel::Create(group, model));
    DdpStep step = ddp.BeginStep();
    for (float& g : model.Gradient<float>(2)) g = static_cast<float>(1 + group->rank());
    for (double& g : model.Gradient<double>(1)) g = 10.0 * (1 + group->rank());
    for (int p : {2, 1, 0}) model.MarkReady(p);
    model.EndBackward();
    ABSL_ASSERT_OK(step.Finish());
    EXPECT_EQ(model.Gradient<float>(2)[1], 1.5f);
    EXPECT_EQ(model.Gradient<double>(1)[0], 15.0);
  });
}

}  // namespace
}  // namespace lockstep
