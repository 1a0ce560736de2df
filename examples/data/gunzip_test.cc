#include "examples/data/gunzip.h"

#include <string>

#include "absl/status/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace data {
namespace {

using ::absl_testing::IsOkAndHolds;
using ::absl_testing::StatusIs;
using ::testing::HasSubstr;

// printf 'hello, hello, hello\n' | gzip -n
const std::string& Hello() {
  static const auto* const kHello = new std::string(
      "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\xcb\x48\xcd\xc9\xc9\xd7\x51\xc8\x40\xa2\xb8\x00"
      "\xe7\x42\x6e\x52\x14\x00\x00\x00",
      30);
  return *kHello;
}

TEST(Gunzip, InflatesWhatGzipWrote) { EXPECT_THAT(Gunzip(Hello(), 1000), IsOkAndHolds("hello, hello, hello\n")); }

TEST(Gunzip, AFileThatInflatesToExactlyTheLimitFits) {
  EXPECT_THAT(Gunzip(Hello(), 20), IsOkAndHolds("hello, hello, hello\n"));
  EXPECT_THAT(Gunzip(Hello(), 19), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("more than 19 bytes")));
  EXPECT_THAT(Gunzip(Hello(), 0), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("more than 0 bytes")));
}

TEST(Gunzip, EveryTruncationEndsEarly) {
  for (size_t size = 0; size < Hello().size(); ++size) {
    EXPECT_THAT(Gunzip(Hello().substr(0, size), 1000), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("ends early")))
        << size;
  }
}

TEST(Gunzip, DamageIsFoundByTheChecksum) {
  std::string damaged = Hello();
  damaged[damaged.size() - 8] ^= 1;  // in the trailer's CRC-32
  EXPECT_THAT(Gunzip(damaged, 1000), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("incorrect data check")));
}

TEST(Gunzip, OtherFilesAreNamedAsSuch) {
  EXPECT_THAT(Gunzip("P5 8 8 16 and so on", 1000),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("incorrect header check")));
}

TEST(Gunzip, BytesAfterTheEndAreRefused) {
  EXPECT_THAT(Gunzip(Hello() + "more", 1000), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("followed by 4 bytes")));
}

TEST(Gunzip, ALimitBelowZeroIsRefused) { EXPECT_THAT(Gunzip(Hello(), -1), StatusIs(absl::StatusCode::kInvalidArgument)); }

}  // namespace
}  // namespace data
