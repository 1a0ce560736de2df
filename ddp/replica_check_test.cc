#include "ddp/replica_check.h"

#include <vector>

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

TEST(ReplicaCheck, NamesTheFirstParameterAndRankThatDiffersByOneBit) {
  for (int flipped = 0; flipped < 3; ++flipped) {
    RunRanks(3, [flipped](std::shared_ptr<ProcessGroup> group) {
      std::vector<uint8_t> a(9, 1), b(1000, 2);
      BufferModel model;
      model.AddParameter("a", {9}, MakeBuffer(absl::MakeSpan(a)));
      model.AddParameter("b", {1000}, MakeBuffer(absl::MakeSpan(b)));
      ABSL_ASSERT_OK(CheckReplicas(*group, model));
      if (group->rank() == flipped) b[777] ^= 0x40;
      const char* const other = flipped == 2 ? "of rank 2" : "of rank 1";
      EXPECT_THAT(CheckReplicas(*group, model),
                  StatusIs(absl::StatusCode::kDataLoss, AllOf(HasSubstr("\"b\""), HasSubstr(other))));
    });
  }
}

TEST(ReplicaCheck, DigestsChangeWithEveryByteAndWithTheLength) {
  std::vector<uint8_t> bytes(21, 0);
  BufferModel whole, shorter;
  whole.AddParameter("w", {21}, MakeBuffer(absl::MakeSpan(bytes)));
  shorter.AddParameter("w", {20}, MakeBuffer(absl::MakeSpan(bytes).first(20)));
  const uint64_t zero = DigestParameters(whole)[0];
  EXPECT_NE(DigestParameters(shorter)[0], zero);
  for (uint8_t& byte : bytes) {
    byte = 1;
    EXPECT_NE(DigestParameters(whole)[0], zero);
    byte = 0;
  }
}

}  // namespace
}  // namespace lockstep
