#include "examples/data/gunzip.h"

#include <zlib.h>

#include <limits>

#include "absl/strings/str_cat.h"

namespace data {
namespace {

// Ends zlib's stream on every way out.
class Inflater {
 public:
  Inflater() { ready_ = inflateInit2(&stream_, 16 + MAX_WBITS) == Z_OK; }  // 16: a gzip header and trailer, nothing else
  ~Inflater() {
    if (ready_) inflateEnd(&stream_);
  }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  bool ready() const { return ready_; }
  z_stream& stream() { return stream_; }

 private:
  z_stream stream_ = {};
  bool ready_;
};

absl::Status Explain(int result, const z_stream& stream, int64_t limit) {
  if (result == Z_BUF_ERROR && stream.avail_out == 0) {
    return absl::DataLossError(absl::StrCat("gzip data inflates to more than ", limit, " bytes"));
  }
  if (result == Z_BUF_ERROR || result == Z_OK) {
    return absl::DataLossError(absl::StrCat("gzip data ends early, after ", stream.total_in, " bytes"));
  }
  return absl::DataLossError(absl::StrCat("gzip data is damaged at byte ", stream.total_in, ": ",
                                          stream.msg != nullptr ? stream.msg : zError(result)));
}

}  // namespace

absl::StatusOr<std::string> Gunzip(absl::string_view gzip, int64_t limit) {
  constexpr int64_t kMaxBytes = std::numeric_limits<uInt>::max() - 1;  // zlib counts in uInt
  if (static_cast<int64_t>(gzip.size()) > kMaxBytes || limit < 0 || limit > kMaxBytes) {
    return absl::InvalidArgumentError(absl::StrCat("gzip data of ", gzip.size(), " bytes, limit ", limit));
  }
  Inflater inflater;
  if (!inflater.ready()) return absl::ResourceExhaustedError("zlib has no memory");
  std::string out(static_cast<size_t>(limit) + 1, '\0');  // one more, to tell "just fits" from "too large"
  z_stream& stream = inflater.stream();
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(gzip.data()));  // zlib only reads it
  stream.avail_in = static_cast<uInt>(gzip.size());
  stream.next_out = reinterpret_cast<Bytef*>(&out[0]);
  stream.avail_out = static_cast<uInt>(out.size());
  const int result = inflate(&stream, Z_FINISH);
  if (result != Z_STREAM_END) return Explain(result, stream, limit);
  if (static_cast<int64_t>(stream.total_out) > limit) return Explain(Z_BUF_ERROR, stream, limit);
  if (stream.avail_in > 0) {
    return absl::DataLossError(absl::StrCat("gzip data is followed by ", stream.avail_in, " bytes that are none"));
  }
  out.resize(stream.total_out);
  return out;
}

}  // namespace data
