// Some images of a data set, as the network takes them.
#ifndef LOCKSTEP_EXAMPLES_DIGITS_BATCH_H_
#define LOCKSTEP_EXAMPLES_DIGITS_BATCH_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "examples/data/digits.h"
#include "examples/nn/matrix.h"

namespace digits {

// Kept for many batches, whose memory it reuses. `source` outlives it.
template <typename T>
class Batch {
 public:
  explicit Batch(const data::DigitImages& source) : source_(source) {}

  // Takes the images with these positions in the source; undoes the Load before.
  void Load(absl::Span<const int64_t> indices) {
    pixels_.resize(indices.size() * data::kDigitPixels);
    labels_.clear();
    T* out = pixels_.data();
    for (const int64_t i : indices) {
      const absl::Span<const uint8_t> image = source_.images().subspan(i * data::kDigitPixels, data::kDigitPixels);
      out = std::transform(image.begin(), image.end(), out,
                           [](uint8_t pixel) { return pixel / (T{data::kDigitMaxPixel} / 2) - 1; });
      labels_.push_back(source_.labels()[i]);
    }
  }

  int64_t size() const { return static_cast<int64_t>(labels_.size()); }
  // One row an image, pixels from -1 (paper) to 1 (ink).
  nn::ConstMatrixView<T> images() const { return nn::ConstMatrixView<T>(pixels_.data(), size(), data::kDigitPixels); }
  absl::Span<const int> labels() const { return labels_; }

 private:
  const data::DigitImages& source_;
  std::vector<T> pixels_;
  std::vector<int> labels_;
};

}  // namespace digits

#endif  // LOCKSTEP_EXAMPLES_DIGITS_BATCH_H_
