// Jobs that stop and go on with another number of ranks, and every way in which loading must refuse, with ranks as threads.
#include "ddp/checkpoint/checkpoint_manager.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "absl/status/status_matchers.h"
#include "absl/strings/str_cat.h"
#include "ddp/buffer_model.h"
#include "ddp/model_state.h"
#include "ddp/sampler/distributed_sampler.h"
#include "ddp/testing/rank_threads.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

using ::absl_testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

// A folder of the test's own, empty.
std::string Folder() {
  const testing::TestInfo* test = testing::UnitTest::GetInstance()->current_test_info();
  const std::string folder = absl::StrCat(getenv("TEST_TMPDIR"), "/", test->name());
  std::filesystem::remove_all(folder);
  return folder;
}

struct Job {
  explicit Job(std::vector<int64_t> shape = {2, 3}, const std::string& name = "weight") {
    int64_t count = 1;
    for (const int64_t d : shape) count *= d;
    values.assign(static_cast<size_t>(count), -1);
    model.AddParameter(name, shape, MakeBuffer(absl::MakeSpan(values)));
  }
  std::vector<float> values;
  BufferModel model;
  ModelState state{model};
};

void Save(const std::string& folder, int ranks, int64_t id, float value) {
  RunRanks(ranks, [&](std::shared_ptr<ProcessGroup> group) {
    Job job;
    for (float& v : job.values) v = value;
    ABSL_ASSERT_OK_AND_ASSIGN(auto sampler, DistributedSampler::Create(100, ranks, group->rank()));
    sampler.SetEpoch(id);
    ABSL_ASSERT_OK_AND_ASSIGN(auto checkpoints, CheckpointManager::Create(group, {folder}));
    ABSL_ASSERT_OK(checkpoints->Save(id, {{"model", &job.state}, {"sampler", &sampler}}));
  });
}

// Loads on `ranks` ranks into a model of this shape and name; all must return the same error, and change nothing.
absl::Status LoadFails(const std::string& folder, int ranks, std::vector<int64_t> shape = {2, 3},
                       const std::string& name = "weight") {
  std::vector<absl::Status> statuses(static_cast<size_t>(ranks));
  RunRanks(ranks, [&](std::shared_ptr<ProcessGroup> group) {
    Job job(shape, name);
    ABSL_ASSERT_OK_AND_ASSIGN(auto sampler, DistributedSampler::Create(100, ranks, group->rank()));
    ABSL_ASSERT_OK_AND_ASSIGN(auto checkpoints, CheckpointManager::Create(group, {folder}));
    statuses[group->rank()] = checkpoints->LoadLatest({{"model", &job.state}, {"sampler", &sampler}}).status();
    EXPECT_THAT(job.values, testing::Each(-1.0f));
    EXPECT_EQ(sampler.epoch(), 0);
  });
  for (const absl::Status& status : statuses) EXPECT_EQ(status, statuses[0]);
  return statuses[0];
}

std::string OnlyFile(const std::string& folder) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) files.push_back(entry.path());
  }
  EXPECT_EQ(files.size(), 1u);
  return files.empty() ? "" : files[0];
}

std::string ReadAll(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

TEST(CheckpointManager, WhatTwoRanksSavedOneAndThreeLoad) {
  const std::string folder = Folder();
  Save(folder, 2, 7, 1.5f);
  for (const int ranks : {1, 2, 3}) {
    RunRanks(ranks, [&](std::shared_ptr<ProcessGroup> group) {
      Job job;
      ABSL_ASSERT_OK_AND_ASSIGN(auto sampler, DistributedSampler::Create(100, ranks, group->rank()));
      ABSL_ASSERT_OK_AND_ASSIGN(auto checkpoints, CheckpointManager::Create(group, {folder}));
      ABSL_ASSERT_OK_AND_ASSIGN(const absl::optional<int64_t> id,
                                checkpoints->LoadLatest({{"model", &job.state}, {"sampler", &sampler}}));
      EXPECT_EQ(id, 7);
      EXPECT_THAT(job.values, testing::Each(1.5f));
      EXPECT_EQ(sampler.epoch(), 7);
    });
  }
}

TEST(CheckpointManager, AnEmptyFolderHasNoCheckpointOnAnyRank) {
  const std::string folder = Folder();
  RunRanks(3, [&](std::shared_ptr<ProcessGroup> group) {
    Job job;
    ABSL_ASSERT_OK_AND_ASSIGN(auto checkpoints, CheckpointManager::Create(group, {folder}));
    ABSL_ASSERT_OK_AND_ASSIGN(const absl::optional<int64_t> id, checkpoints->LoadLatest({{"model", &job.state}}));
    EXPECT_EQ(id, absl::nullopt);
  });
}

TEST(CheckpointManager, TheLatestIsLoadedAndOnlyTheLastThreeStay) {
  const std::string folder = Folder();
  for (int64_t id = 0; id < 5; ++id) Save(folder, 2, id, static_cast<float>(id));
  int files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) files += entry.is_regular_file();
  EXPECT_EQ(files, 3);
  RunRanks(1, [&](std::shared_ptr<ProcessGroup> group) {
    Job job;
    ABSL_ASSERT_OK_AND_ASSIGN(auto sampler, DistributedSampler::Create(100, 1, 0));
    ABSL_ASSERT_OK_AND_ASSIGN(auto checkpoints, CheckpointManager::Create(group, {folder}));
    ABSL_ASSERT_OK_AND_ASSIGN(const absl::optional<int64_t> id,
                              checkpoints->LoadLatest({{"model", &job.state}, {"sampler", &sampler}}));
    EXPECT_EQ(id, 4);
    EXPECT_THAT(job.values, testing::Each(4.0f));
  });
}

TEST(CheckpointManager, AWrongShapeIsNamedWithBothShapesOnAllRanks) {
  const std::string folder = Folder();
  Save(folder, 2, 0, 1);
  const std::string before = ReadAll(OnlyFile(folder));
  EXPECT_THAT(LoadFails(folder, 3, {3, 2}),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("weight"), HasSubstr("f32[2,3]"), HasSubstr("f32[3,2]"))));
  EXPECT_EQ(ReadAll(OnlyFile(folder)), before);
}

TEST(CheckpointManager, AMissingNameIsNamedOnAllRanks) {
  const std::string folder = Folder();
  Save(folder, 2, 0, 1);
  const std::string before = ReadAll(OnlyFile(folder));
  EXPECT_THAT(LoadFails(folder, 2, {2, 3}, "another"),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("another")));
  EXPECT_EQ(ReadAll(OnlyFile(folder)), before);
}

TEST(CheckpointManager, AFileTruncatedAnywhereIsDataLossOnAllRanksAndStaysAsItIs) {
  const std::string folder = Folder();
  Save(folder, 2, 0, 1);
  const std::string path = OnlyFile(folder), whole = ReadAll(path);
  for (size_t bytes = 0; bytes < whole.size(); bytes += 1 + whole.size() / 37) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << whole.substr(0, bytes);
    EXPECT_THAT(LoadFails(folder, 2), StatusIs(absl::StatusCode::kDataLoss, HasSubstr(path))) << bytes;
    EXPECT_EQ(ReadAll(path).size(), bytes);
  }
}

}  // namespace
}  // namespace lockstep
