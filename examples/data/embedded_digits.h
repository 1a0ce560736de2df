// The bytes of digits.csv.gz, which the build turns into an array (the genrule in BUILD.bazel).
#ifndef LOCKSTEP_EXAMPLES_DATA_EMBEDDED_DIGITS_H_
#define LOCKSTEP_EXAMPLES_DATA_EMBEDDED_DIGITS_H_

#include <cstddef>

namespace data {

extern const unsigned char kEmbeddedDigits[];
extern const size_t kEmbeddedDigitsSize;

}  // namespace data

#endif  // LOCKSTEP_EXAMPLES_DATA_EMBEDDED_DIGITS_H_
