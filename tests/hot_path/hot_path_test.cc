// What the path of a gradient costs, in counts: heap, locks, copies and system calls, of all threads, from the second step on.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "absl/status/status_matchers.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/hot_path/syscall_tracer.h"

namespace lockstep {
namespace {

// The number behind `key=` in the worker's line.
int64_t Value(const std::string& line, const std::string& key) {
  for (const absl::string_view word : absl::StrSplit(line, absl::ByAnyChar(" \n"))) {
    const std::pair<absl::string_view, absl::string_view> field = absl::StrSplit(word, absl::MaxSplits('=', 1));
    int64_t value = 0;
    if (field.first == key && absl::SimpleAtoi(field.second, &value)) return value;
  }
  ADD_FAILURE() << key << " is not in: " << line;
  return -1;
}

int64_t Sum(const std::map<std::string, int64_t>& counts) {
  int64_t sum = 0;
  for (const auto& [name, count] : counts) sum += count;
  return sum;
}

std::string Show(const std::map<std::string, int64_t>& counts) {
  std::string text;
  for (const auto& [name, count] : counts) absl::StrAppend(&text, " ", name, "=", count);
  return text;
}

class HotPath : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    const std::string worker = absl::StrCat(getenv("TEST_SRCDIR"), "/", getenv("TEST_WORKSPACE"), "/tests/hot_path/worker");
    absl::StatusOr<TraceResult> result = TraceSyscalls({worker, GetParam()});
    if (absl::IsUnavailable(result.status())) GTEST_SKIP() << result.status() << "; needs the right to ptrace a child";
    ABSL_ASSERT_OK(result.status());
    trace_ = *std::move(result);
    ASSERT_EQ(trace_.exit_code, 0);
    std::printf("%s: %s  in hooks:%s\n  in all:%s\n", GetParam().c_str(), trace_.output.c_str(),
                Show(trace_.in_hooks).c_str(), Show(trace_.in_steady).c_str());
  }

  TraceResult trace_;
};

TEST_P(HotPath, AHookAllocatesNothingTakesNoLockAndMakesAtMostOneSystemCallABucket) {
  EXPECT_EQ(Value(trace_.output, "hook_allocations"), 0);
  // in_process runs an operation in the hook that completes it, under its hub's lock; the engine's own hook takes none.
  const bool gloo = GetParam() == "gloo";
  EXPECT_EQ(Value(trace_.output, "hook_locks") != 0, !gloo);
  const int64_t buckets = Value(trace_.output, "buckets");
  EXPECT_EQ(buckets, 2 * 20 * 6);
  EXPECT_EQ(trace_.hooks, 2 * 20 * 7);
  EXPECT_LE(Sum(trace_.in_hooks), buckets);
  for (const auto& [name, count] : trace_.in_hooks) EXPECT_THAT(name, testing::AnyOf("futex", "write")) << count;
}

TEST_P(HotPath, GradientsAreBornInTheirBucketsSoThatTheTrainingThreadCopiesNone) {
  if (GetParam() != "gloo") GTEST_SKIP() << "in_process reduces on the training thread, and copies as it does";
  EXPECT_EQ(Value(trace_.output, "rank_copied_bytes"), 0);
}

TEST_P(HotPath, AStepAllocatesNothingOnTheTrainingThread) { EXPECT_EQ(Value(trace_.output, "rank_allocations"), 0); }

TEST_P(HotPath, AStepStartsNoThreadAndSleepsNowhere) {
  for (const char* name : {"clone", "clone3", "nanosleep", "clock_nanosleep"}) {
    EXPECT_EQ(trace_.in_steady.count(name), 0u) << name;
  }
}

// Gloo allocates on its own threads, about 21 times an operation (2022-05, on two ranks); for that glibc may map memory and
// count the machine's cores. Nothing of ours does.
constexpr int64_t kOperations = 2 * 20 * 6;  // of both ranks: the buckets, and nothing else
constexpr int64_t kGlooAllocationsPerOperation = 30;

TEST_P(HotPath, AStepAllocatesNothingOnAnyThreadButGloos) {
  const bool gloo = GetParam() == "gloo";
  EXPECT_LE(Value(trace_.output, "all_allocations"), gloo ? kGlooAllocationsPerOperation * kOperations : 0);
  if (gloo) return;
  for (const char* name : {"mmap", "munmap", "brk", "madvise", "openat", "close"}) {
    EXPECT_EQ(trace_.in_steady.count(name), 0u) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Transports, HotPath, testing::Values("in_process", "gloo"),
                         [](const testing::TestParamInfo<std::string>& param) { return param.param; });

}  // namespace
}  // namespace lockstep
