// Which reductions are defined, and whether docs/collectives.md says the same.
#include "transports/reduce_op.h"

#include <fstream>
#include <sstream>
#include <string>

#include "absl/status/status_matchers.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

using ::absl_testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

std::string Page() {
  std::ifstream file("docs/collectives.md");
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(ReduceOp, ThePageOfCollectivesHasEveryCell) {
  const std::string page = Page();
  std::string head = "| dtype |";
  for (int op = 0; op < kNumReduceOps; ++op) absl::StrAppend(&head, " ", ReduceOpName(static_cast<ReduceOp>(op)), " |");
  EXPECT_THAT(page, HasSubstr(absl::StrCat(head, "\n")));
  for (int dtype = 0; dtype < kNumDTypes; ++dtype) {
    std::string row = absl::StrCat("\n| ", DTypeName(static_cast<DType>(dtype)), " |");
    for (int op = 0; op < kNumReduceOps; ++op) {
      const bool defined = CheckReduction(static_cast<DType>(dtype), static_cast<ReduceOp>(op)).ok();
      absl::StrAppend(&row, defined ? " yes |" : " no |");
    }
    EXPECT_THAT(page, HasSubstr(absl::StrCat(row, "\n")));
  }
}

TEST(ReduceOp, AnUndefinedOneSaysWhatItTakes) {
  EXPECT_THAT(CheckReduction(DType::kF32, ReduceOp::kBand),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("band"), HasSubstr("f32"), HasSubstr("i8, u8, i32, i64, u64, bool"))));
  EXPECT_THAT(CheckReduction(DType::kBool, ReduceOp::kAvg),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("f16, bf16, f32, f64, i8")));
  EXPECT_THAT(CheckReduction(DType::kI32, ReduceOp::kPremulSum),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("it takes f16, bf16, f32, f64")));
}

}  // namespace
}  // namespace lockstep
