#include "ddp/checkpoint/safetensors.h"

#include <algorithm>
#include <array>
#include <set>
#include <tuple>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/status_macros.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/optional.h"
#include "ddp/checkpoint/safetensors_parser.h"
#include "nlohmann/json.hpp"

namespace lockstep {
namespace {

struct NamedDType {
  absl::string_view name;
  DType dtype;
};
// In the reference's order, of rising alignment.
constexpr NamedDType kDTypes[] = {{"BOOL", DType::kBool}, {"U8", DType::kU8},   {"I8", DType::kI8},   {"F16", DType::kF16},
                                  {"BF16", DType::kBF16}, {"I32", DType::kI32}, {"F32", DType::kF32}, {"F64", DType::kF64},
                                  {"I64", DType::kI64},   {"U64", DType::kU64}};
constexpr absl::string_view kOtherDTypes[] = {"F4",          "F6_E2M3",     "F6_E3M2", "F8_E5M2", "F8_E4M3", "F8_E8M0",
                                              "F8_E4M3FNUZ", "F8_E5M2FNUZ", "I16",     "U16",     "U32",     "C64"};
static_assert(std::size(kDTypes) == kNumDTypes, "every dtype has a name in files");

size_t PlaceOf(DType dtype) {
  return static_cast<size_t>(
      std::find_if(std::begin(kDTypes), std::end(kDTypes), [&](const NamedDType& d) { return d.dtype == dtype; }) -
      std::begin(kDTypes));
}

absl::Status At(const SafetensorsText& tensor, absl::string_view what) {
  return absl::DataLossError(absl::StrCat("tensor ", QuotedName(tensor.name), ": ", what));
}

absl::StatusOr<DType> ParseDType(const SafetensorsText& tensor) {
  for (const NamedDType& d : kDTypes) {
    if (d.name == tensor.dtype) return d.dtype;
  }
  const bool known = std::find(std::begin(kOtherDTypes), std::end(kOtherDTypes), tensor.dtype) != std::end(kOtherDTypes);
  return At(tensor, absl::StrCat("dtype ", QuotedName(tensor.dtype), known ? " is not supported" : " is unknown"));
}

absl::optional<uint64_t> ByteCount(const std::vector<uint64_t>& shape, DType dtype) {
  uint64_t bytes = 1;
  for (const uint64_t dimension : shape) {
    if (__builtin_mul_overflow(bytes, dimension, &bytes)) return absl::nullopt;
  }
  if (__builtin_mul_overflow(bytes, static_cast<uint64_t>(SizeOf(dtype)), &bytes)) return absl::nullopt;
  return bytes;
}

// Sizes are those of the tensor's type, and its range lies within the data.
absl::StatusOr<SafetensorsEntry> CheckTensor(const SafetensorsText& tensor, uint64_t data_bytes) {
  ABSL_ASSIGN_OR_RETURN(const DType dtype, ParseDType(tensor));
  const auto range = absl::StrCat("data_offsets [", tensor.begin, ",", tensor.end, "]");
  if (tensor.begin > tensor.end || tensor.end > data_bytes) {
    return At(tensor, absl::StrCat(range, " lie outside the data of ", data_bytes, " bytes"));
  }
  const absl::optional<uint64_t> bytes = ByteCount(tensor.shape, dtype);
  const auto shape = absl::StrCat("shape [", absl::StrJoin(tensor.shape, ","), "]");
  if (!bytes.has_value()) return At(tensor, absl::StrCat(shape, " has more bytes than 64 bits can count"));
  if (*bytes != tensor.end - tensor.begin) {
    return At(tensor, absl::StrCat(tensor.dtype, " of ", shape, " takes ", *bytes, " bytes, but its ", range, " hold ",
                                   tensor.end - tensor.begin));
  }
  // An empty tensor may have dimensions that no other could.
  for (const uint64_t d : tensor.shape) {
    if (d > static_cast<uint64_t>(INT64_MAX)) return At(tensor, absl::StrCat(shape, " has a dimension above 2^63 - 1"));
  }
  return SafetensorsEntry{tensor.name, dtype, std::vector<int64_t>(tensor.shape.begin(), tensor.shape.end()),
                          static_cast<int64_t>(tensor.begin), static_cast<int64_t>(tensor.end)};
}

// No gaps, no overlaps, and nothing after the last: every byte of the file belongs to one tensor.
absl::Status CheckCoverage(const std::vector<SafetensorsEntry>& tensors, int64_t data_bytes) {
  int64_t covered = 0;
  for (const SafetensorsEntry& tensor : tensors) {
    if (tensor.begin != covered) {
      return absl::DataLossError(absl::StrCat("tensor ", QuotedName(tensor.name), ": its data begins at ", tensor.begin,
                                              ", but the one before it ends at ", covered));
    }
    covered = tensor.end;
  }
  if (covered == data_bytes) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat("the tensors take ", covered, " bytes, but the data has ", data_bytes));
}

// Throws inside for text that is not UTF-8; nothing else of this library does.
absl::StatusOr<std::string> JsonString(absl::string_view text) {
  try {
    return nlohmann::json(std::string(text)).dump();
  } catch (const nlohmann::json::exception&) {
    return absl::InvalidArgumentError(absl::StrCat("\"", absl::CHexEscape(text.substr(0, 100)), "\" is not UTF-8 text"));
  }
}

absl::Status AppendMetadata(const std::map<std::string, std::string>& metadata, std::string& json) {
  std::vector<std::string> fields;
  for (const auto& [key, value] : metadata) {
    ABSL_ASSIGN_OR_RETURN(const std::string json_key, JsonString(key));
    ABSL_ASSIGN_OR_RETURN(const std::string json_value, JsonString(value));
    fields.push_back(absl::StrCat(json_key, ":", json_value));
  }
  if (!fields.empty()) absl::StrAppend(&json, "\"__metadata__\":{", absl::StrJoin(fields, ","), "}");
  return absl::OkStatus();
}

absl::Status AppendTensor(const SafetensorsEntry& tensor, std::string& json) {
  ABSL_ASSIGN_OR_RETURN(const std::string name, JsonString(tensor.name));
  absl::StrAppend(&json, json.size() > 1 ? "," : "", name, ":{\"dtype\":\"", SafetensorsDTypeName(tensor.dtype),
                  "\",\"shape\":", ShapeText(tensor.shape), ",\"data_offsets\":[", tensor.begin, ",", tensor.end, "]}");
  return absl::OkStatus();
}

std::string LittleEndian(uint64_t number) {
  std::string bytes;
  for (int i = 0; i < 8; ++i) bytes.push_back(static_cast<char>(number >> (8 * i)));
  return bytes;
}

absl::Status PlaceTensors(std::vector<SafetensorsEntry>& tensors) {
  std::sort(tensors.begin(), tensors.end(), [](const SafetensorsEntry& a, const SafetensorsEntry& b) {
    return std::make_tuple(PlaceOf(b.dtype), std::cref(a.name)) < std::make_tuple(PlaceOf(a.dtype), std::cref(b.name));
  });
  int64_t offset = 0;
  std::set<absl::string_view> names = {"__metadata__"};
  for (SafetensorsEntry& tensor : tensors) {
    if (!names.insert(tensor.name).second) {
      return absl::InvalidArgumentError(absl::StrCat("the name ", QuotedName(tensor.name), " is used twice, or reserved"));
    }
    int64_t bytes = SizeOf(tensor.dtype);
    for (const int64_t dimension : tensor.shape) bytes *= dimension;
    tensor.begin = offset;
    tensor.end = offset += bytes;
  }
  return absl::OkStatus();
}

}  // namespace

absl::string_view SafetensorsDTypeName(DType dtype) { return kDTypes[PlaceOf(dtype)].name; }

std::string ShapeText(const std::vector<int64_t>& shape) { return absl::StrCat("[", absl::StrJoin(shape, ","), "]"); }

std::string QuotedName(absl::string_view name) {
  constexpr size_t kShown = 200;
  return absl::StrCat("\"", absl::Utf8SafeCEscape(name.substr(0, kShown)), name.size() > kShown ? "..." : "", "\"");
}

absl::StatusOr<int64_t> ParseSafetensorsLength(absl::string_view eight_bytes, int64_t file_bytes) {
  if (eight_bytes.size() < 8) {
    return absl::DataLossError(absl::StrCat("the file has ", file_bytes, " bytes; a safetensors file has at least 10"));
  }
  uint64_t length = 0;
  for (size_t i = 0; i < 8; ++i) length |= static_cast<uint64_t>(static_cast<uint8_t>(eight_bytes[i])) << (8 * i);
  const uint64_t rest = static_cast<uint64_t>(file_bytes - 8);
  if (length > rest) {
    return absl::DataLossError(absl::StrCat("the header is said to have ", length, " bytes, but ", rest, " follow"));
  }
  if (length > static_cast<uint64_t>(kMaxSafetensorsHeaderBytes)) {
    return absl::DataLossError(
        absl::StrCat("the header has ", length, " bytes; at most ", kMaxSafetensorsHeaderBytes, " are read"));
  }
  return static_cast<int64_t>(length);
}

absl::StatusOr<SafetensorsHeader> ParseSafetensorsHeader(absl::string_view header, int64_t data_bytes) {
  SafetensorsHeader result;
  ABSL_ASSIGN_OR_RETURN(const std::vector<SafetensorsText> texts, ParseSafetensorsJson(header, result.metadata));
  for (const SafetensorsText& text : texts) {
    ABSL_ASSIGN_OR_RETURN(SafetensorsEntry entry, CheckTensor(text, static_cast<uint64_t>(data_bytes)));
    result.tensors.push_back(std::move(entry));
  }
  std::stable_sort(result.tensors.begin(), result.tensors.end(), [](const SafetensorsEntry& a, const SafetensorsEntry& b) {
    return std::make_pair(a.begin, a.end) < std::make_pair(b.begin, b.end);
  });
  ABSL_RETURN_IF_ERROR(CheckCoverage(result.tensors, data_bytes));
  return result;
}

absl::StatusOr<std::string> BuildSafetensorsHead(SafetensorsHeader& header) {
  ABSL_RETURN_IF_ERROR(PlaceTensors(header.tensors));
  std::string json = "{";
  ABSL_RETURN_IF_ERROR(AppendMetadata(header.metadata, json));
  for (const SafetensorsEntry& tensor : header.tensors) ABSL_RETURN_IF_ERROR(AppendTensor(tensor, json));
  json.push_back('}');
  constexpr size_t kAlignment = 64;
  json.append((kAlignment - (8 + json.size()) % kAlignment) % kAlignment, ' ');
  if (json.size() > static_cast<size_t>(kMaxSafetensorsHeaderBytes)) {
    return absl::InvalidArgumentError(absl::StrCat("the names and shapes of ", header.tensors.size(), " tensors take ",
                                                   json.size(), " bytes; at most ", kMaxSafetensorsHeaderBytes, " fit"));
  }
  return absl::StrCat(LittleEndian(json.size()), json);
}

}  // namespace lockstep
