#include "transports/store/prefix_store.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace lockstep {

PrefixStore::PrefixStore(Store& store, absl::string_view prefix) : store_(store), prefix_(prefix) {}

PrefixStore::PrefixStore(std::shared_ptr<Store> store, absl::string_view prefix)
    : owned_(std::move(store)), store_(*owned_), prefix_(prefix) {}

absl::Status PrefixStore::Set(absl::string_view key, absl::string_view value) { return store_.Set(Whole(key), value); }

absl::StatusOr<std::string> PrefixStore::Get(absl::string_view key, absl::Duration timeout) {
  return store_.Get(Whole(key), timeout);
}

absl::StatusOr<int64_t> PrefixStore::Add(absl::string_view key, int64_t delta) { return store_.Add(Whole(key), delta); }

absl::StatusOr<bool> PrefixStore::Contains(absl::string_view key) { return store_.Contains(Whole(key)); }

absl::StatusOr<bool> PrefixStore::Delete(absl::string_view key) { return store_.Delete(Whole(key)); }

std::string PrefixStore::Describe() const { return absl::StrCat(store_.Describe(), " under \"", prefix_, "\""); }

std::string PrefixStore::Whole(absl::string_view key) const { return absl::StrCat(prefix_, "/", key); }

}  // namespace lockstep
