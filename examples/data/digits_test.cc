#include "examples/data/digits.h"

#include <zlib.h>

#include <array>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status_matchers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "examples/data/embedded_digits.h"
#include "examples/data/gunzip.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace data {
namespace {

using ::absl_testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

// A line of 64 pixels of 5 and the class 3, with one field replaced.
std::string Line(int field = -1, absl::string_view value = "") {
  std::vector<std::string> fields(65, "5");
  fields[64] = "3";
  if (field >= 0) fields[field] = std::string(value);
  return absl::StrJoin(fields, ",") + "\n";
}

std::array<int, 10> Histogram(const DigitImages& images) {
  std::array<int, 10> counts = {};
  for (const uint8_t label : images.labels()) ++counts.at(label);
  return counts;
}

// How often each image and class occurs.
std::map<std::string, int> Contents(const DigitImages& images) {
  std::map<std::string, int> contents;
  for (int64_t i = 0; i < images.size(); ++i) {
    ++contents[absl::StrCat(absl::StrJoin(images.images().subspan(64 * i, 64), " "), " is ", images.labels()[i])];
  }
  return contents;
}

DigitImages All() {
  const absl::string_view gzip(reinterpret_cast<const char*>(kEmbeddedDigits), kEmbeddedDigitsSize);
  return ParseDigits(*Gunzip(gzip, 1 << 20)).value();
}

// scikit-learn's documentation and an independent reader in Python gave these numbers.
TEST(EmbeddedDigits, AreThePublishedFile) {
  const absl::string_view gzip(reinterpret_cast<const char*>(kEmbeddedDigits), kEmbeddedDigitsSize);
  EXPECT_EQ(gzip.size(), 57512u);
  const absl::StatusOr<std::string> csv = Gunzip(gzip, 1 << 20);
  ABSL_ASSERT_OK(csv.status());
  EXPECT_EQ(csv->size(), 264712u);
  EXPECT_EQ(crc32(0, reinterpret_cast<const Bytef*>(csv->data()), static_cast<uInt>(csv->size())), 784219063u);
}

TEST(EmbeddedDigits, HaveTheKnownClassesAndInk) {
  const DigitImages all = All();
  EXPECT_EQ(all.size(), 1797);
  EXPECT_THAT(Histogram(all), ElementsAre(178, 182, 177, 183, 181, 182, 181, 179, 174, 180));
  int64_t ink = 0;
  for (const uint8_t pixel : all.images()) ink += pixel;
  EXPECT_EQ(ink, 561718);
  EXPECT_THAT(all.images().first(16), ElementsAre(0, 0, 5, 13, 9, 1, 0, 0, 0, 0, 13, 15, 10, 15, 5, 0));
  EXPECT_EQ(all.labels().front(), 0);
  EXPECT_EQ(all.labels().back(), 8);
}

TEST(LoadDigits, SplitsAllImagesInTwoPartsOfKnownSizes) {
  const absl::StatusOr<DigitsDataset> digits = LoadDigits();
  ABSL_ASSERT_OK(digits.status());
  EXPECT_EQ(digits->train.size(), 1437);
  EXPECT_EQ(digits->test.size(), 360);
  std::map<std::string, int> both = Contents(digits->train);
  for (const auto& entry : Contents(digits->test)) both[entry.first] += entry.second;
  EXPECT_EQ(both, Contents(All()));
}

TEST(LoadDigits, GivesTheSameSplitEachTime) {
  const DigitsDataset first = LoadDigits().value(), second = LoadDigits().value();
  EXPECT_THAT(second.train.images(), ElementsAreArray(first.train.images()));
  EXPECT_THAT(second.test.labels(), ElementsAreArray(first.test.labels()));
}

// The split by an independent implementation in Python: if this fails, every recorded accuracy has changed.
TEST(LoadDigits, GivesTheSameSplitOnEveryMachine) {
  const DigitsDataset digits = LoadDigits().value();
  EXPECT_THAT(digits.train.labels().first(10), ElementsAre(9, 5, 6, 1, 1, 3, 2, 9, 9, 1));
  EXPECT_THAT(digits.test.labels().last(10), ElementsAre(1, 3, 6, 6, 3, 1, 9, 9, 1, 2));
  EXPECT_THAT(Histogram(digits.test), ElementsAre(35, 45, 35, 40, 38, 30, 39, 40, 22, 36));
}

TEST(SplitDigits, AnotherSeedGivesAnotherSplit) {
  const DigitImages all = All();
  EXPECT_NE(Contents(SplitDigits(all, 1437, 1).test), Contents(SplitDigits(all, 1437, 2).test));
}

TEST(SplitDigits, EitherPartMayBeEmpty) {
  const DigitImages images = ParseDigits(Line() + Line()).value();
  EXPECT_EQ(SplitDigits(images, 0, 1).train.size(), 0);
  EXPECT_EQ(SplitDigits(images, 0, 1).test.size(), 2);
  EXPECT_EQ(SplitDigits(images, 2, 1).test.size(), 0);
  EXPECT_EQ(SplitDigits(DigitImages(), 0, 1).train.size(), 0);
}

TEST(ParseDigits, ReadsEveryLine) {
  const absl::StatusOr<DigitImages> images = ParseDigits(Line(0, "0") + Line(63, "16") + Line(64, "9"));
  ABSL_ASSERT_OK(images.status());
  ASSERT_EQ(images->size(), 3);
  EXPECT_EQ(images->images()[0], 0);
  EXPECT_EQ(images->images()[64 + 63], 16);
  EXPECT_THAT(images->labels(), ElementsAre(3, 3, 9));
}

TEST(ParseDigits, AnEmptyFileHasNoImages) { EXPECT_EQ(ParseDigits("").value().size(), 0); }

struct BadFile {
  std::string name;
  std::string csv;
  std::string error;
};

class ParseDigitsErrorTest : public testing::TestWithParam<BadFile> {};

TEST_P(ParseDigitsErrorTest, NamesLineFieldAndValue) {
  EXPECT_THAT(ParseDigits(GetParam().csv), StatusIs(absl::StatusCode::kDataLoss, HasSubstr(GetParam().error)));
}

INSTANTIATE_TEST_SUITE_P(
    BadFiles, ParseDigitsErrorTest,
    testing::Values(
        BadFile{"PixelTooLarge", Line() + Line(2, "17"), "line 2: field 3 is \"17\", expected a whole number of 0 to 16"},
        BadFile{"ClassTooLarge", Line(64, "10"), "line 1: field 65 is \"10\", expected a whole number of 0 to 9"},
        BadFile{"Negative", Line(0, "-1"), "field 1 is \"-1\""}, BadFile{"Sign", Line(0, "+1"), "field 1 is \"+1\""},
        BadFile{"Fraction", Line(0, "1.0"), "field 1 is \"1.0\""}, BadFile{"Space", Line(0, " 1"), "field 1 is \" 1\""},
        BadFile{"Empty", Line(7, ""), "field 8 is \"\""}, BadFile{"Letter", Line(7, "x"), "field 8 is \"x\""},
        BadFile{"Huge", Line(7, std::string(1000, '9')), "field 8 is \"99999999999999999999\""},
        BadFile{"Binary", Line(7, std::string("\0\xff", 2)), "field 8 is \"\\x00\\xff\""},
        BadFile{"CarriageReturn", Line(64, "3\r"), "field 65 is \"3\\r\""},
        BadFile{"TooFewFields", "1,2,3\n", "line 1: 3 fields, expected 64 pixels and a class"},
        BadFile{"TooManyFields", Line(64, "3,4"), "line 1: 66 fields"},
        BadFile{"EmptyLine", "\n" + Line(), "line 1: 1 fields"},
        BadFile{"CutShort", Line() + Line().substr(0, 40), "line 2: does not end: the file is cut short"}),
    [](const testing::TestParamInfo<BadFile>& instance) { return instance.param.name; });

}  // namespace
}  // namespace data
