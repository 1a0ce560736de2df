// A parser's callbacks instead of its document: a document keeps only the last of two equal keys, and turns -1 and 1.5 into
// sizes.
#include "ddp/checkpoint/safetensors_parser.h"

#include <cstddef>
#include <set>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "ddp/checkpoint/safetensors.h"
#include "nlohmann/json.hpp"

namespace lockstep {
namespace {

class HeaderHandler final : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit HeaderHandler(std::map<std::string, std::string>& metadata) : metadata_(metadata) {}

  const absl::Status& status() const { return status_; }
  std::vector<SafetensorsText>& tensors() { return tensors_; }

  bool start_object(std::size_t) override {
    if (place_ == Place::kStart) return Enter(Place::kRoot);
    if (place_ != Place::kRoot) return Unexpected("an object");
    if (key_ == "__metadata__") return Enter(Place::kMetadata);
    tensors_.emplace_back();
    tensors_.back().name = key_;
    fields_.clear();
    return Enter(Place::kTensor);
  }

  bool key(string_t& key) override {
    key_ = key;
    switch (place_) {
      case Place::kRoot:
        return names_.insert(key).second || Fail(absl::StrCat("the name ", QuotedName(key), " occurs twice"));
      case Place::kMetadata:
        return metadata_.count(key) == 0 || Fail(absl::StrCat("__metadata__ has the key ", QuotedName(key), " twice"));
      default:
        return BeginField(key);
    }
  }

  bool string(string_t& text) override {
    if (place_ == Place::kMetadata) return metadata_.emplace(key_, text).second;
    if (place_ != Place::kTensor || key_ != "dtype") return Unexpected("a string");
    tensors_.back().dtype = text;
    return true;
  }

  bool start_array(std::size_t) override {
    if (place_ != Place::kTensor || key_ == "dtype") return Unexpected("an array");
    offsets_.clear();
    return Enter(key_ == "shape" ? Place::kShape : Place::kOffsets);
  }

  bool number_unsigned(number_unsigned_t number) override {
    if (place_ != Place::kShape && place_ != Place::kOffsets) return Unexpected("a number");
    (place_ == Place::kShape ? tensors_.back().shape : offsets_).push_back(number);
    return true;
  }

  bool end_array() override {
    if (place_ == Place::kOffsets) {
      if (offsets_.size() != 2) return Fail(absl::StrCat("data_offsets has ", offsets_.size(), " numbers instead of 2"));
      tensors_.back().begin = offsets_[0];
      tensors_.back().end = offsets_[1];
    }
    return Enter(Place::kTensor);
  }

  bool end_object() override {
    if (place_ == Place::kRoot) return Enter(Place::kEnd);
    if (place_ == Place::kTensor && fields_.size() != 3) return Fail("dtype, shape or data_offsets is missing");
    return Enter(Place::kRoot);
  }

  bool null() override { return Unexpected("null"); }
  bool boolean(bool) override { return Unexpected("a boolean"); }
  bool number_integer(number_integer_t) override { return Unexpected("a negative number"); }
  bool number_float(number_float_t, const string_t& text) override {
    return Unexpected(absl::StrCat("the number ", text.substr(0, 40)));
  }
  bool binary(binary_t&) override { return Unexpected("binary data"); }

  bool parse_error(std::size_t position, const std::string&, const nlohmann::json::exception&) override {
    if (status_.ok()) status_ = absl::DataLossError(absl::StrCat("the header is not JSON: see its byte ", position));
    return false;
  }

 private:
  enum class Place { kStart, kRoot, kMetadata, kTensor, kShape, kOffsets, kEnd };

  bool Enter(Place place) {
    place_ = place;
    return true;
  }

  bool BeginField(const std::string& field) {
    if (field != "dtype" && field != "shape" && field != "data_offsets") {
      return Fail(absl::StrCat("the field ", QuotedName(field), " is unknown"));
    }
    return fields_.insert(field).second || Fail(absl::StrCat("the field ", QuotedName(field), " occurs twice"));
  }

  bool Unexpected(absl::string_view what) {
    switch (place_) {
      case Place::kStart:
        return Fail(absl::StrCat("the header is ", what, " instead of an object"));
      case Place::kMetadata:
        return Fail(absl::StrCat("__metadata__ has ", what, " as ", QuotedName(key_), "; only strings may stand there"));
      case Place::kRoot:
        return Fail(absl::StrCat(QuotedName(key_), " is ", what, " instead of an object"));
      default:
        return Fail(absl::StrCat(what, " stands in ", QuotedName(key_), ", which takes ",
                                 key_ == "dtype" ? "a string" : "an array of whole numbers from 0 to 2^64 - 1"));
    }
  }

  bool Fail(absl::string_view what) {
    const bool inside = place_ == Place::kTensor || place_ == Place::kShape || place_ == Place::kOffsets;
    status_ = absl::DataLossError(inside ? absl::StrCat("tensor ", QuotedName(tensors_.back().name), ": ", what)
                                         : std::string(what));
    return false;
  }

  std::map<std::string, std::string>& metadata_;
  std::vector<SafetensorsText> tensors_;
  absl::Status status_;
  Place place_ = Place::kStart;
  std::string key_;  // the last one
  std::set<std::string> names_;
  std::set<std::string> fields_;  // of the current tensor
  std::vector<uint64_t> offsets_;
};

// The parser would take a byte order mark in front and zeros behind.
absl::Status CheckEnds(absl::string_view header) {
  const size_t last = header.find_last_not_of(" \t\r\n");
  if (last == absl::string_view::npos || header.front() != '{' || header[last] != '}') {
    return absl::DataLossError("the header must begin with { and end with }, but for spaces behind");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<SafetensorsText>> ParseSafetensorsJson(absl::string_view header,
                                                                  std::map<std::string, std::string>& metadata) {
  if (absl::Status status = CheckEnds(header); !status.ok()) return status;
  HeaderHandler handler(metadata);
  nlohmann::json::sax_parse(header.begin(), header.end(), &handler);
  if (!handler.status().ok()) return handler.status();
  return std::move(handler.tensors());
}

}  // namespace lockstep
