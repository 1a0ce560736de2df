#include "transports/store/in_process_store.h"

#include "absl/status/status_macros.h"

namespace lockstep {

absl::Status InProcessStore::Set(absl::string_view key, absl::string_view value) {
  ABSL_RETURN_IF_ERROR(AtStore(Describe(), CheckStoreEntry(key, value)));
  absl::MutexLock lock(&mu_);
  table_.Set(key, std::string(value));
  return absl::OkStatus();
}

absl::StatusOr<std::string> InProcessStore::Get(absl::string_view key, absl::Duration timeout) {
  ABSL_RETURN_IF_ERROR(AtStore(Describe(), CheckStoreKey(key)));
  absl::MutexLock lock(&mu_);
  const auto is_there = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { return table_.Find(key) != nullptr; };
  if (!mu_.AwaitWithTimeout(absl::Condition(&is_there), timeout)) return AtStore(Describe(), StoreKeyMissing(key, timeout));
  return *table_.Find(key);
}

absl::StatusOr<int64_t> InProcessStore::Add(absl::string_view key, int64_t delta) {
  ABSL_RETURN_IF_ERROR(AtStore(Describe(), CheckStoreKey(key)));
  absl::MutexLock lock(&mu_);
  absl::StatusOr<int64_t> sum = table_.Add(key, delta);
  if (!sum.ok()) return AtStore(Describe(), sum.status());
  return sum;
}

absl::StatusOr<bool> InProcessStore::Contains(absl::string_view key) {
  ABSL_RETURN_IF_ERROR(AtStore(Describe(), CheckStoreKey(key)));
  absl::MutexLock lock(&mu_);
  return table_.Find(key) != nullptr;
}

absl::StatusOr<bool> InProcessStore::Delete(absl::string_view key) {
  ABSL_RETURN_IF_ERROR(AtStore(Describe(), CheckStoreKey(key)));
  absl::MutexLock lock(&mu_);
  return table_.Delete(key);
}

}  // namespace lockstep
