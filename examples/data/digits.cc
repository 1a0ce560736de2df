#include "examples/data/digits.h"

#include <array>
#include <numeric>
#include <string>
#include <utility>

#include "absl/log/check.h"
#include "absl/status/status_macros.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "examples/data/embedded_digits.h"
#include "examples/data/gunzip.h"
#include "examples/nn/random.h"

namespace data {
namespace {

constexpr int64_t kImages = 1797;
constexpr int64_t kTrainImages = 1437;
constexpr int64_t kInflatedBytes = 264712;
constexpr uint64_t kSplitSeed = 1998;  // the year the images were published

// Digits only: SimpleAtoi alone would take signs and spaces.
bool ParseNumber(absl::string_view text, int max, uint8_t& value) {
  int number = 0;
  if (text.empty() || text.size() > 2 || text.find_first_not_of("0123456789") != text.npos) return false;
  if (!absl::SimpleAtoi(text, &number) || number > max) return false;
  value = static_cast<uint8_t>(number);
  return true;
}

absl::Status BadLine(int64_t line, absl::string_view problem) {
  return absl::DataLossError(absl::StrCat("digits, line ", line, ": ", problem));
}

absl::Status ParseLine(absl::string_view text, int64_t line, DigitImages& images) {
  const std::vector<absl::string_view> fields = absl::StrSplit(text, ',');
  if (fields.size() != kDigitPixels + 1) {
    return BadLine(line, absl::StrCat(fields.size(), " fields, expected ", kDigitPixels, " pixels and a class"));
  }
  std::array<uint8_t, kDigitPixels + 1> numbers;
  for (int i = 0; i <= kDigitPixels; ++i) {
    const int max = i < kDigitPixels ? kDigitMaxPixel : kDigitClasses - 1;
    if (ParseNumber(fields[i], max, numbers[i])) continue;
    return BadLine(line, absl::StrCat("field ", i + 1, " is \"", absl::CHexEscape(fields[i].substr(0, 20)),
                                      "\", expected a whole number of 0 to ", max));
  }
  images.Add(absl::MakeConstSpan(numbers).first(kDigitPixels), numbers[kDigitPixels]);
  return absl::OkStatus();
}

absl::StatusOr<DigitImages> ParseEmbedded() {
  const absl::string_view gzip(reinterpret_cast<const char*>(kEmbeddedDigits), kEmbeddedDigitsSize);
  ABSL_ASSIGN_OR_RETURN(const std::string csv, Gunzip(gzip, kInflatedBytes));
  ABSL_ASSIGN_OR_RETURN(DigitImages images, ParseDigits(csv));
  if (images.size() != kImages) return absl::DataLossError(absl::StrCat(images.size(), " images, expected ", kImages));
  return images;
}

}  // namespace

void DigitImages::Add(absl::Span<const uint8_t> image, uint8_t label) {
  CHECK_EQ(image.size(), static_cast<size_t>(kDigitPixels));
  images_.insert(images_.end(), image.begin(), image.end());
  labels_.push_back(label);
}

absl::StatusOr<DigitImages> ParseDigits(absl::string_view csv) {
  DigitImages images;
  for (int64_t line = 1; !csv.empty(); ++line) {
    const size_t end = csv.find('\n');
    if (end == csv.npos) return BadLine(line, "does not end: the file is cut short");
    ABSL_RETURN_IF_ERROR(ParseLine(csv.substr(0, end), line, images));
    csv.remove_prefix(end + 1);
  }
  return images;
}

DigitsDataset SplitDigits(const DigitImages& images, int64_t train_size, uint64_t seed) {
  CHECK(train_size >= 0 && train_size <= images.size()) << train_size << " of " << images.size();
  std::vector<int64_t> order(images.size());
  std::iota(order.begin(), order.end(), 0);
  nn::Random random(seed);
  DigitsDataset dataset;
  for (size_t i = 0; i < order.size(); ++i) {  // Fisher-Yates: each of the remaining is as likely as any other
    std::swap(order[i], order[i + random.Below(order.size() - i)]);
    DigitImages& part = static_cast<int64_t>(i) < train_size ? dataset.train : dataset.test;
    part.Add(images.images().subspan(order[i] * kDigitPixels, kDigitPixels), images.labels()[order[i]]);
  }
  return dataset;
}

absl::StatusOr<DigitsDataset> LoadDigits() {
  const absl::StatusOr<DigitImages> images = ParseEmbedded();
  if (!images.ok()) {
    return absl::InternalError(absl::StrCat("the embedded digits are damaged (", images.status().message(),
                                            "): build again from a clean checkout, and report it if that does not help"));
  }
  return SplitDigits(*images, kTrainImages, kSplitSeed);
}

}  // namespace data
