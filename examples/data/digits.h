// The UCI handwritten digits: 1,797 grey images of 8x8 pixels, of ten classes. They are part of the program, so it needs no
// file and no network. README.md tells where they come from and their licence.
//
//   ABSL_ASSIGN_OR_RETURN(data::DigitsDataset digits, data::LoadDigits());
//   digits.train.images()[64 * i + 8 * row + column]    // 0 (paper) to 16 (ink)
//   digits.train.labels()[i]                            // 0 to 9
#ifndef LOCKSTEP_EXAMPLES_DATA_DIGITS_H_
#define LOCKSTEP_EXAMPLES_DATA_DIGITS_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace data {

inline constexpr int kDigitPixels = 64;
inline constexpr int kDigitMaxPixel = 16;
inline constexpr int kDigitClasses = 10;

// Images with their classes. A value: copying copies.
class DigitImages {
 public:
  int64_t size() const { return static_cast<int64_t>(labels_.size()); }
  // kDigitPixels an image, row by row, one image after the other.
  absl::Span<const uint8_t> images() const { return images_; }
  absl::Span<const uint8_t> labels() const { return labels_; }

  // `image` has kDigitPixels pixels.
  void Add(absl::Span<const uint8_t> image, uint8_t label);

 private:
  std::vector<uint8_t> images_;
  std::vector<uint8_t> labels_;
};

struct DigitsDataset {
  DigitImages train;  // 1,437
  DigitImages test;   // 360: the rest
};

// Takes the embedded file apart, and the images into two parts at random, always the same.
// INTERNAL: the embedded file is not the one we know, so the program was built wrong.
absl::StatusOr<DigitsDataset> LoadDigits();

// One image a line: kDigitPixels whole numbers of 0 to kDigitMaxPixel and the class of 0 to 9, with commas between, and
// nothing else. DATA_LOSS names line, field and what stands there.
absl::StatusOr<DigitImages> ParseDigits(absl::string_view csv);

// `train_size` images, drawn from all alike, and the others, both in the order they were drawn. A seed names a split for good.
DigitsDataset SplitDigits(const DigitImages& images, int64_t train_size, uint64_t seed);

}  // namespace data

#endif  // LOCKSTEP_EXAMPLES_DATA_DIGITS_H_
