#include "transports/store/key_table.h"

#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "transports/store/store.h"

namespace lockstep {
namespace {

constexpr size_t kKeyBytesShown = 80;

}  // namespace

std::string QuoteStoreKey(absl::string_view key) {
  const absl::string_view shown = key.substr(0, kKeyBytesShown);
  return absl::StrCat("\"", absl::CHexEscape(shown), "\"", shown.size() < key.size() ? "..." : "");
}

absl::Status CheckStoreKey(absl::string_view key) {
  if (static_cast<int64_t>(key.size()) <= kMaxStoreKeyBytes) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("the key ", QuoteStoreKey(key), " has ", key.size(),
                                                 " bytes; keys hold up to ", kMaxStoreKeyBytes, ", prefixes included"));
}

absl::Status CheckStoreEntry(absl::string_view key, absl::string_view value) {
  if (static_cast<int64_t>(value.size()) <= kMaxStoreValueBytes) return CheckStoreKey(key);
  return absl::InvalidArgumentError(absl::StrCat("the value for key ", QuoteStoreKey(key), " has ", value.size(),
                                                 " bytes; values hold up to ", kMaxStoreValueBytes,
                                                 ". Move data this large through a communicator."));
}

absl::Status StoreKeyMissing(absl::string_view key, absl::Duration waited) {
  return absl::DeadlineExceededError(
      absl::StrCat("no rank set the key ", QuoteStoreKey(key), " within ", absl::FormatDuration(waited)));
}

absl::Status AtStore(absl::string_view place, const absl::Status& status) {
  return status.ok() ? status : absl::Status(status.code(), absl::StrCat(place, ": ", status.message()));
}

void KeyTable::Set(absl::string_view key, std::string value) { values_[key] = std::move(value); }

absl::StatusOr<int64_t> KeyTable::Add(absl::string_view key, int64_t delta) {
  int64_t sum = delta;
  if (const auto it = values_.find(key); it != values_.end()) {
    int64_t before = 0;
    if (!absl::SimpleAtoi(it->second, &before)) {
      return absl::InvalidArgumentError(absl::StrCat("cannot add to the key ", QuoteStoreKey(key), ": its value ",
                                                     QuoteStoreKey(it->second), " is no 64-bit decimal number"));
    }
    if (__builtin_add_overflow(before, delta, &sum)) {
      return absl::InvalidArgumentError(absl::StrCat("adding ", delta, " to the key ", QuoteStoreKey(key), ", which holds ",
                                                     before, ", leaves the range of 64-bit numbers"));
    }
  }
  Set(key, absl::StrCat(sum));
  return sum;
}

bool KeyTable::Delete(absl::string_view key) { return values_.erase(key) > 0; }

const std::string* KeyTable::Find(absl::string_view key) const {
  const auto it = values_.find(key);
  return it == values_.end() ? nullptr : &it->second;
}

}  // namespace lockstep
