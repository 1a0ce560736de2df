#include "ddp/checkpoint/checkpoint_directory.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "absl/status/status_macros.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "absl/types/optional.h"
#include "ddp/checkpoint/durable_file.h"

namespace lockstep {
namespace {

constexpr absl::string_view kPrefix = "checkpoint-";
constexpr absl::string_view kSuffix = ".safetensors";

std::string NameOf(int64_t id) { return absl::StrFormat("%s%010d%s", kPrefix, id, kSuffix); }

absl::optional<int64_t> ParseName(const std::string& name) {
  absl::string_view digits = name;
  int64_t id = 0;
  if (!absl::ConsumePrefix(&digits, kPrefix) || !absl::ConsumeSuffix(&digits, kSuffix)) return absl::nullopt;
  if (!absl::SimpleAtoi(digits, &id) || name != NameOf(id)) return absl::nullopt;
  return id;
}

}  // namespace

absl::Status CheckpointDirectory::Prepare() {
  ABSL_RETURN_IF_ERROR(MakeFolderDurably(files_, path_));
  RemoveAbandonedTemporaries(files_, path_, kPrefix);
  return absl::OkStatus();
}

std::string CheckpointDirectory::PathOf(int64_t id) const { return absl::StrCat(path_, "/", NameOf(id)); }

absl::StatusOr<std::vector<int64_t>> CheckpointDirectory::List() const {
  std::vector<int64_t> ids;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(path_, error), end; !error && entry != end; entry.increment(error)) {
    if (const auto id = ParseName(entry->path().filename().string())) ids.push_back(*id);
  }
  if (error) return absl::ErrnoToStatus(error.value(), absl::StrCat("list ", path_));
  std::sort(ids.begin(), ids.end());
  return ids;
}

absl::Status CheckpointDirectory::Prune(int keep) {
  ABSL_ASSIGN_OR_RETURN(const std::vector<int64_t> ids, List());
  const size_t surplus = ids.size() - std::min(ids.size(), static_cast<size_t>(keep));
  for (size_t i = 0; i < surplus; ++i) {
    const int removed = files_.Remove(PathOf(ids[i]));
    if (removed < 0) return absl::ErrnoToStatus(-removed, absl::StrCat("remove ", PathOf(ids[i])));
  }
  return absl::OkStatus();
}

}  // namespace lockstep
