#include "ddp/checkpoint/safetensors.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status_matchers.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

using ::absl_testing::IsOk;
using ::absl_testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

std::string LengthOf(uint64_t length) {
  std::string bytes;
  for (int i = 0; i < 8; ++i) bytes.push_back(static_cast<char>(length >> (8 * i)));
  return bytes;
}

std::string FileOf(const std::string& header, size_t data_bytes) {
  return absl::StrCat(LengthOf(header.size()), header, std::string(data_bytes, '\x01'));
}

// As a reader does it with a file.
absl::StatusOr<SafetensorsHeader> Parse(absl::string_view file) {
  const auto length = ParseSafetensorsLength(file.substr(0, 8), static_cast<int64_t>(file.size()));
  if (!length.ok()) return length.status();
  const auto size = static_cast<size_t>(*length);
  return ParseSafetensorsHeader(file.substr(8, size), static_cast<int64_t>(file.size() - 8 - size));
}

std::string Tensor(const std::string& name, const std::string& dtype, const std::string& shape, const std::string& offsets) {
  return absl::StrCat("\"", name, "\":{\"dtype\":\"", dtype, "\",\"shape\":", shape, ",\"data_offsets\":", offsets, "}");
}

std::string Object(const std::vector<std::string>& fields) { return absl::StrCat("{", absl::StrJoin(fields, ","), "}"); }

// {"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}} with something else as its shape or offsets.
std::string OneFloat(const std::string& shape = "[1]", const std::string& offsets = "[0,4]") {
  return Object({Tensor("a", "F32", shape, offsets)});
}

const char kFloat[] = R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})";

// --- Files that the reference implementation (0.8.0) reads --------------------------------------------------------------

// Written by other programs, and read by the reference.
TEST(SafetensorsReader, ReadsFilesOfOtherWriters) {
  const auto hex = [](absl::string_view text) { return Parse(absl::HexStringToBytes(text)); };
  const auto empty = hex("02000000000000007b7d");
  ABSL_ASSERT_OK(empty);
  EXPECT_THAT(empty->tensors, IsEmpty());

  for (const char* one :
       {"36000000000000007b2261223a7b226474797065223a22463332222c227368617065223a5b315d2c22646174615f6f66667365"
        "7473223a5b302c345d7d7d0000803f",
        "38000000000000007b2261223a7b226474797065223a22463332222c227368617065223a5b315d2c22646174615f6f66667365"
        "7473223a5b302c345d7d7d20200000803f"}) {
    const auto header = hex(one);
    ABSL_ASSERT_OK(header);
    ASSERT_EQ(header->tensors.size(), 1u);
    EXPECT_EQ(header->tensors[0].name, "a");
    EXPECT_EQ(header->tensors[0].dtype, DType::kF32);
    EXPECT_THAT(header->tensors[0].shape, ElementsAre(1));
    EXPECT_EQ(header->tensors[0].end, 4);
  }

  const auto metadata = hex("1a000000000000007b225f5f6d657461646174615f5f223a7b226b223a2276227d7d");
  ABSL_ASSERT_OK(metadata);
  EXPECT_THAT(metadata->metadata, ElementsAre(Pair("k", "v")));
}

TEST(SafetensorsReader, SortsTensorsIntoTheOrderOfTheirData) {
  const auto header =
      Parse(absl::HexStringToBytes("a3000000000000007b2261223a7b226474797065223a2242463136222c227368617065223a5b325d2c226461"
                                   "74615f6f666673657473223a5b302c345d"
                                   "7d2c2273223a7b226474797065223a22493634222c227368617065223a5b5d2c22646174615f6f6666736574"
                                   "73223a5b342c31325d7d2c227a223a7b22"
                                   "6474797065223a22463332222c227368617065223a5b302c335d2c22646174615f6f666673657473223a5b34"
                                   "2c345d7d7d803f0040feffffffffffffff"));
  ABSL_ASSERT_OK(header);
  ASSERT_EQ(header->tensors.size(), 3u);
  EXPECT_EQ(header->tensors[0].name, "a");
  EXPECT_EQ(header->tensors[0].dtype, DType::kBF16);
  EXPECT_EQ(header->tensors[1].name, "z");
  EXPECT_THAT(header->tensors[1].shape, ElementsAre(0, 3));
  EXPECT_EQ(header->tensors[2].name, "s");
  EXPECT_THAT(header->tensors[2].shape, IsEmpty());
  EXPECT_EQ(header->tensors[2].begin, 4);
  EXPECT_EQ(header->tensors[2].end, 12);
}

struct Good {
  std::string name;
  std::string header;
  size_t data_bytes;
};

class ReadHeaders : public testing::TestWithParam<Good> {};

TEST_P(ReadHeaders, AreRead) { EXPECT_THAT(Parse(FileOf(GetParam().header, GetParam().data_bytes)), IsOk()); }

INSTANTIATE_TEST_SUITE_P(
    Table, ReadHeaders,
    testing::Values(
        Good{"SpacesBehind", absl::StrCat(kFloat, "\n\t\r "), 4}, Good{"Scalar", OneFloat("[]"), 4},
        Good{"Empty", OneFloat("[0,3]", "[0,0]"), 0},
        Good{"TwoEmptyInOnePlace", Object({Tensor("a", "F32", "[0]", "[0,0]"), Tensor("b", "F32", "[0]", "[0,0]")}), 0},
        Good{"EmptyAtTheEnd", Object({Tensor("a", "F32", "[1]", "[0,4]"), Tensor("b", "F32", "[0]", "[4,4]")}), 4},
        Good{"NotAligned", Object({Tensor("a", "U8", "[1]", "[0,1]"), Tensor("b", "F32", "[1]", "[1,5]")}), 5},
        Good{"NameIsEmpty", Object({Tensor("", "F32", "[1]", "[0,4]")}), 4},
        Good{"NameIsAPath", Object({Tensor("../x", "F32", "[1]", "[0,4]")}), 4},
        Good{"NameHasANul", Object({Tensor("a\\u0000", "F32", "[1]", "[0,4]")}), 4},
        Good{"MetadataEmpty", Object({"\"__metadata__\":{}"}), 0},
        Good{"MetadataLast", Object({Tensor("a", "F32", "[1]", "[0,4]"), "\"__metadata__\":{\"k\":\"v\"}"}), 4},
        Good{"FieldsInAnotherOrder", R"({"a":{"data_offsets":[0,4],"shape":[1],"dtype":"F32"}})", 4},
        Good{"ZeroBeforeAnOverflow", OneFloat("[0,4294967296,4294967296]", "[0,0]"), 0}),
    [](const testing::TestParamInfo<Good>& test) { return test.param.name; });

TEST(SafetensorsReader, ReadsAThousandDimensions) {
  std::vector<std::string> ones(1000, "1");
  const auto header = Parse(FileOf(OneFloat(absl::StrCat("[", absl::StrJoin(ones, ","), "]")), 4));
  ABSL_ASSERT_OK(header);
  EXPECT_EQ(header->tensors[0].shape.size(), 1000u);
}

// --- Files that are refused --------------------------------------------------------------------------------------------

struct Bad {
  std::string name;
  std::string header;
  size_t data_bytes;
  std::string words;  // in the error
};

class RefusedHeaders : public testing::TestWithParam<Bad> {};

TEST_P(RefusedHeaders, AreDataLossInOneLineThatSaysWhat) {
  const absl::Status status = Parse(FileOf(GetParam().header, GetParam().data_bytes)).status();
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kDataLoss, HasSubstr(GetParam().words)));
  EXPECT_FALSE(absl::StrContains(status.message(), "\n"));
}

std::string Name(const testing::TestParamInfo<Bad>& test) { return test.param.name; }

constexpr char kEnds[] = "must begin with { and end with }";
INSTANTIATE_TEST_SUITE_P(
    Text, RefusedHeaders,
    testing::Values(Bad{"Nothing", "", 0, kEnds}, Bad{"AnArray", "[]", 0, kEnds}, Bad{"Spaces", "   ", 0, kEnds},
                    Bad{"TwoDocuments", "{}{}", 0, "not JSON"}, Bad{"NulBehind", std::string("{}\0\0\0\0\0\0", 8), 0, kEnds},
                    Bad{"SpaceInFront", absl::StrCat(" ", kFloat), 4, kEnds},
                    Bad{"NewlineInFront", absl::StrCat("\n", kFloat), 4, kEnds},
                    Bad{"ByteOrderMark", absl::StrCat("\xef\xbb\xbf", kFloat), 4, kEnds},
                    Bad{"TrailingComma", R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4],}})", 4, "not JSON"},
                    Bad{"Comment", R"({/**/"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 4, "not JSON"},
                    Bad{"ControlByte", Object({Tensor("a\x01", "F32", "[1]", "[0,4]")}), 4, "not JSON"},
                    Bad{"LoneSurrogate", Object({Tensor("\\ud83d", "F32", "[1]", "[0,4]")}), 4, "not JSON"},
                    Bad{"NotUtf8", Object({Tensor("\xff", "F32", "[1]", "[0,4]")}), 4, "not JSON"},
                    Bad{"OverlongUtf8", Object({Tensor("\xc0\x80", "F32", "[1]", "[0,4]")}), 4, "not JSON"},
                    Bad{"Cut", R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]})", 4, "not JSON"}),
    Name);

constexpr char kWholeNumbers[] = "takes an array of whole numbers";
INSTANTIATE_TEST_SUITE_P(
    Numbers, RefusedHeaders,
    testing::Values(
        Bad{"LeadingZero", OneFloat("[01]"), 4, "not JSON"}, Bad{"Fraction", OneFloat("[1.0]"), 4, kWholeNumbers},
        Bad{"Exponent", OneFloat("[1e0]"), 4, kWholeNumbers}, Bad{"MinusZero", OneFloat("[-0]"), 4, kWholeNumbers},
        Bad{"Negative", OneFloat("[-1]"), 4, kWholeNumbers}, Bad{"AString", OneFloat("[\"1\"]"), 4, "a string stands"},
        Bad{"ABoolean", OneFloat("[true]"), 4, "a boolean stands"}, Bad{"ANull", OneFloat("[null]"), 4, "null stands"},
        Bad{"AnObject", OneFloat("[{}]"), 4, "an object stands"}, Bad{"AnArray", OneFloat("[[1]]"), 4, "an array stands"},
        Bad{"Above64Bits", OneFloat("[18446744073709551616]"), 4, "the number 18446744073709551616"},
        Bad{"NegativeOffset", OneFloat("[1]", "[-4,0]"), 4, kWholeNumbers},
        Bad{"OneOffset", OneFloat("[1]", "[0]"), 4, "data_offsets has 1 numbers instead of 2"},
        Bad{"ThreeOffsets", OneFloat("[1]", "[0,4,4]"), 4, "data_offsets has 3 numbers"},
        Bad{"OffsetsAsObject", OneFloat("[1]", "{\"0\":4}"), 4, "an object stands in \"data_offsets\""}),
    Name);

const char kOverflow[] = "more bytes than 64 bits can count";
INSTANTIATE_TEST_SUITE_P(
    Places, RefusedHeaders,
    testing::Values(
        Bad{"EmptyInsideAnother", Object({Tensor("a", "U8", "[2]", "[0,2]"), Tensor("b", "U8", "[0]", "[1,1]")}), 2,
            "begins at 1"},
        Bad{"EmptyOutside", OneFloat("[0]", "[9,9]"), 0, "outside the data of 0 bytes"},
        Bad{"HoleInFront", OneFloat("[1]", "[4,8]"), 8,
            "tensor \"a\": its data begins at 4, but the one before it ends at 0"},
        Bad{"HoleBetween", Object({Tensor("a", "U8", "[1]", "[0,1]"), Tensor("b", "U8", "[1]", "[2,3]")}), 3,
            "tensor \"b\""},
        Bad{"Overlap", Object({Tensor("a", "U8", "[2]", "[0,2]"), Tensor("b", "U8", "[2]", "[1,3]")}), 3, "tensor \"b\""},
        Bad{"SameRange", Object({Tensor("a", "U8", "[2]", "[0,2]"), Tensor("b", "U8", "[2]", "[0,2]")}), 2, "begins at 0"},
        Bad{"BeginAfterEnd", OneFloat("[1]", "[4,0]"), 4, "[4,0]"},
        Bad{"OneByteTooMany", kFloat, 5, "the tensors take 4 bytes, but the data has 5"},
        Bad{"OneByteTooFew", kFloat, 3, "[0,4] lie outside the data of 3 bytes"},
        Bad{"TwoFloatsInFourBytes", OneFloat("[2]"), 4, "F32 of shape [2] takes 8 bytes, but its data_offsets [0,4] hold 4"},
        Bad{"ProductOverflows", OneFloat("[4294967296,4294967296,0]", "[0,0]"), 0, kOverflow},
        Bad{"ProductWrapsToZero", OneFloat("[9223372036854775808,2]", "[0,0]"), 0, kOverflow},
        Bad{"BytesWrapToZero", OneFloat("[4611686018427387904]", "[0,0]"), 0, kOverflow},
        Bad{"DimensionAboveInt64", OneFloat("[0,9223372036854775808]", "[0,0]"), 0, "dimension above 2^63"},
        Bad{"EndWraps", OneFloat("[1]", "[18446744073709551612,0]"), 4, "outside the data"},
        Bad{"EndFarAway", OneFloat("[4611686018427387903]", "[0,18446744073709551612]"), 4, "outside the data"}),
    Name);

INSTANTIATE_TEST_SUITE_P(
    Names, RefusedHeaders,
    testing::Values(
        Bad{"SameNameSameRange", Object({Tensor("a", "F32", "[1]", "[0,4]"), Tensor("a", "F32", "[1]", "[0,4]")}), 4,
            "the name \"a\" occurs twice"},
        Bad{"SameNameEscaped", Object({Tensor("a", "F32", "[1]", "[0,4]"), Tensor("\\u0061", "F32", "[1]", "[0,4]")}), 4,
            "the name \"a\" occurs twice"},
        Bad{"SameNameTwoRanges", Object({Tensor("a", "F32", "[1]", "[0,4]"), Tensor("a", "F32", "[1]", "[4,8]")}), 8,
            "twice"},
        Bad{"MetadataTwice", R"({"__metadata__":{},"__metadata__":{}})", 0, "\"__metadata__\" occurs twice"},
        Bad{"DTypeTwice", R"({"a":{"dtype":"F32","dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 4,
            "tensor \"a\": the field \"dtype\" occurs twice"},
        Bad{"MetadataKeyTwice", R"({"__metadata__":{"k":"1","k":"2"}})", 0, "__metadata__ has the key \"k\" twice"},
        Bad{"MetadataNumber", R"({"__metadata__":{"k":1}})", 0, "a number as \"k\""},
        Bad{"MetadataNullValue", R"({"__metadata__":{"k":null}})", 0, "null as \"k\""},
        Bad{"MetadataObjectValue", R"({"__metadata__":{"k":{}}})", 0, "an object as \"k\""},
        Bad{"MetadataIsATensor", Object({Tensor("__metadata__", "F32", "[1]", "[0,4]")}), 4, "__metadata__ has an array"},
        Bad{"MetadataNull", R"({"__metadata__":null})", 0, "\"__metadata__\" is null instead of an object"},
        Bad{"UnknownField", R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4],"x":1}})", 4,
            "the field \"x\" is unknown"},
        Bad{"NoShape", R"({"a":{"dtype":"F32","data_offsets":[0,4]}})", 4, "dtype, shape or data_offsets is missing"},
        Bad{"NoFields", R"({"a":{}})", 0, "missing"},
        Bad{"TensorAsArray", R"({"a":["F32",[1],[0,4]]})", 4, "\"a\" is an array instead of an object"},
        Bad{"TensorAsNumber", R"({"a":1})", 0, "\"a\" is a number instead of an object"},
        Bad{"DTypeAsObject", R"({"a":{"dtype":{"F32":null},"shape":[1],"data_offsets":[0,4]}})", 4, "which takes a string"},
        Bad{"DTypeAsNumber", R"({"a":{"dtype":17,"shape":[1],"data_offsets":[0,4]}})", 4, "which takes a string"},
        Bad{"F4", Object({Tensor("a", "F4", "[2]", "[0,1]")}), 1, "tensor \"a\": dtype \"F4\" is not supported"},
        Bad{"F6", Object({Tensor("a", "F6_E2M3", "[4]", "[0,3]")}), 3, "dtype \"F6_E2M3\" is not supported"},
        Bad{"C64", Object({Tensor("a", "C64", "[1]", "[0,8]")}), 8, "dtype \"C64\" is not supported"},
        Bad{"C128", Object({Tensor("a", "C128", "[1]", "[0,16]")}), 16, "dtype \"C128\" is unknown"},
        Bad{"LowerCase", Object({Tensor("a", "f32", "[1]", "[0,4]")}), 4, "dtype \"f32\" is unknown"},
        Bad{"EscapedInTheError", Object({Tensor("a\\n\\u0000", "f32", "[1]", "[0,4]")}), 4, "tensor \"a\\n\\000\""}),
    Name);

TEST(SafetensorsReader, RefusesALengthThatTheFileDoesNotHave) {
  const auto refused = [](const std::string& file, const std::string& words) {
    EXPECT_THAT(Parse(file), StatusIs(absl::StatusCode::kDataLoss, HasSubstr(words)));
  };
  refused("", "the file has 0 bytes");
  refused(LengthOf(2).substr(0, 7), "the file has 7 bytes");
  refused(LengthOf(0), kEnds);
  refused(LengthOf(3) + "{}", "said to have 3 bytes, but 2 follow");
  refused(LengthOf(UINT64_MAX) + "{}", "said to have 18446744073709551615 bytes");
  refused(LengthOf(uint64_t{1} << 63) + "{}", "said to have 9223372036854775808 bytes");
}

TEST(SafetensorsReader, RefusesALongHeaderBeforeReadingIt) {
  EXPECT_THAT(ParseSafetensorsLength(LengthOf(kMaxSafetensorsHeaderBytes + 1), int64_t{1} << 40),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("at most 16777216 are read")));
  EXPECT_THAT(ParseSafetensorsLength(LengthOf(kMaxSafetensorsHeaderBytes), int64_t{1} << 40), IsOk());
}

TEST(SafetensorsReader, RefusesAMillionNestedBracketsWithoutFollowingThem) {
  const std::string deep = absl::StrCat("{\"a\":", std::string(1000000, '['), std::string(1000000, ']'), "}");
  EXPECT_THAT(Parse(FileOf(deep, 0)), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("an array instead of an object")));
}

TEST(SafetensorsReader, ShowsOnlyTheBeginningOfALongName) {
  const absl::Status status = Parse(FileOf(Object({Tensor(std::string(100000, 'n'), "x", "[]", "[0,0]")}), 0)).status();
  EXPECT_LT(status.message().size(), 400u);
}

TEST(SafetensorsReader, RefusesAFileThatIsCutAnywhere) {
  const std::string file = FileOf(Object({Tensor("a", "F32", "[1]", "[0,4]"), Tensor("b", "U8", "[3]", "[4,7]")}), 7);
  ABSL_ASSERT_OK(Parse(file));
  for (size_t length = 0; length < file.size(); ++length) {
    EXPECT_THAT(Parse(file.substr(0, length)), StatusIs(absl::StatusCode::kDataLoss)) << length;
  }
}

// Whatever the bytes: a result or an error, and a result that keeps the promises of the header file.
TEST(SafetensorsReader, SurvivesAHundredThousandDamagedFiles) {
  const std::string file = FileOf(
      Object({Tensor("a", "F32", "[1,2]", "[0,8]"), Tensor("b", "U8", "[3]", "[8,11]"), "\"__metadata__\":{\"k\":\"v\"}"}),
      11);
  std::mt19937 random(20);
  const std::string alphabet = "{}[]\",:0123456789-.eaFU\\u\xff";
  for (int round = 0; round < 100000; ++round) {
    std::string damaged = file;
    for (uint32_t changes = 1 + random() % 3; changes > 0; --changes) {
      damaged[random() % damaged.size()] =
          random() % 2 == 0 ? alphabet[random() % alphabet.size()] : static_cast<char>(random());
    }
    const auto header = Parse(damaged);
    if (!header.ok()) {
      EXPECT_THAT(header, StatusIs(absl::StatusCode::kDataLoss));
      continue;
    }
    int64_t covered = 0;
    for (const SafetensorsEntry& entry : header->tensors) {
      EXPECT_EQ(entry.begin, covered);
      covered = entry.end;
    }
    EXPECT_LE(covered, static_cast<int64_t>(file.size()));
  }
}

// --- Writing -----------------------------------------------------------------------------------------------------------

SafetensorsHeader Sample() {
  SafetensorsHeader header;
  header.tensors = {{"b", DType::kF32, {2}},    {"a", DType::kF32, {}},      {"mask", DType::kBool, {3}},
                    {"step", DType::kI64, {1}}, {"h", DType::kBF16, {1, 2}}, {"none", DType::kF64, {0, 5}}};
  header.metadata = {{"format", "pt"}, {"epoch", "3"}};
  return header;
}

// The order and spelling are those of the reference writer; only the padding differs (64 instead of 8).
TEST(SafetensorsWriter, WritesWidestDTypesFirstAndThenByName) {
  SafetensorsHeader header = Sample();
  const auto head = BuildSafetensorsHead(header);
  ABSL_ASSERT_OK(head);
  const std::string json = R"({"__metadata__":{"epoch":"3","format":"pt"},)"
                           R"("step":{"dtype":"I64","shape":[1],"data_offsets":[0,8]},)"
                           R"("none":{"dtype":"F64","shape":[0,5],"data_offsets":[8,8]},)"
                           R"("a":{"dtype":"F32","shape":[],"data_offsets":[8,12]},)"
                           R"("b":{"dtype":"F32","shape":[2],"data_offsets":[12,20]},)"
                           R"("h":{"dtype":"BF16","shape":[1,2],"data_offsets":[20,24]},)"
                           R"("mask":{"dtype":"BOOL","shape":[3],"data_offsets":[24,27]}})";
  EXPECT_EQ(head->size() % 64, 0u);
  EXPECT_EQ(head->substr(0, 8), LengthOf(head->size() - 8));
  EXPECT_EQ(head->substr(8, json.size()), json);
  EXPECT_EQ(head->find_first_not_of(' ', 8 + json.size()), std::string::npos);
}

TEST(SafetensorsWriter, WritesWhatTheReaderReads) {
  SafetensorsHeader written = Sample();
  for (int d = 0; d < kNumDTypes; ++d) {
    written.tensors.push_back({absl::StrCat("of dtype ", d), static_cast<DType>(d), {2, 3}});
  }
  written.tensors.push_back({"quote \" backslash \\ newline \n nul \x01 \u00fc \u6f22", DType::kU8, {1}});
  written.metadata["key \" \n"] = "value \u00fc \\";
  const auto head = BuildSafetensorsHead(written);
  ABSL_ASSERT_OK(head);
  const auto read = Parse(absl::StrCat(*head, std::string(static_cast<size_t>(written.tensors.back().end), '\0')));
  ABSL_ASSERT_OK(read);
  EXPECT_EQ(read->metadata, written.metadata);
  ASSERT_EQ(read->tensors.size(), written.tensors.size());
  for (const SafetensorsEntry& expected : written.tensors) {
    const bool found = std::any_of(read->tensors.begin(), read->tensors.end(), [&](const SafetensorsEntry& entry) {
      return entry.name == expected.name && entry.dtype == expected.dtype && entry.shape == expected.shape &&
             entry.begin == expected.begin && entry.end == expected.end;
    });
    EXPECT_TRUE(found) << expected.name;
  }
}

TEST(SafetensorsWriter, RefusesWhatTheReaderWould) {
  const auto build = [](std::vector<SafetensorsEntry> tensors, std::map<std::string, std::string> metadata = {}) {
    SafetensorsHeader header;
    header.tensors = std::move(tensors);
    header.metadata = std::move(metadata);
    return BuildSafetensorsHead(header).status();
  };
  constexpr absl::StatusCode kInvalid = absl::StatusCode::kInvalidArgument;
  EXPECT_THAT(build({{"a", DType::kF32, {}}, {"a", DType::kF64, {}}}), StatusIs(kInvalid, HasSubstr("\"a\" is used twice")));
  EXPECT_THAT(build({{"__metadata__", DType::kF32, {}}}), StatusIs(kInvalid, HasSubstr("__metadata__")));
  EXPECT_THAT(build({{"\xff", DType::kF32, {}}}), StatusIs(kInvalid, HasSubstr("not UTF-8")));
  EXPECT_THAT(build({}, {{"k", "\xc0\x80"}}), StatusIs(kInvalid, HasSubstr("not UTF-8")));
  EXPECT_THAT(build({}, {{"k", std::string(kMaxSafetensorsHeaderBytes, 'x')}}), StatusIs(kInvalid, HasSubstr("at most")));
}

}  // namespace
}  // namespace lockstep
