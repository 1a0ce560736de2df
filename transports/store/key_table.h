// The keys and values of a store, and the rules they obey, without waiting and without a network: what InProcessStore and
// the TCP store's server share. Not thread-safe. Errors name the key, not the store, which the caller adds.
#ifndef LOCKSTEP_TRANSPORTS_STORE_KEY_TABLE_H_
#define LOCKSTEP_TRANSPORTS_STORE_KEY_TABLE_H_

#include <cstdint>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace lockstep {

// A key as errors show it: quoted, escaped, and cut after 80 bytes.
std::string QuoteStoreKey(absl::string_view key);

// INVALID_ARGUMENT with the length and the limit if the key or the value is too long (store.h).
absl::Status CheckStoreKey(absl::string_view key);
absl::Status CheckStoreEntry(absl::string_view key, absl::string_view value);

// DEADLINE_EXCEEDED of a Get whose key did not come: one text for all stores.
absl::Status StoreKeyMissing(absl::string_view key, absl::Duration waited);

// Puts `place` ("tcp store at ...") before an error's text; OK stays OK.
absl::Status AtStore(absl::string_view place, const absl::Status& status);

class KeyTable {
 public:
  // Each as in Store. The caller has checked the lengths.
  void Set(absl::string_view key, std::string value);
  absl::StatusOr<int64_t> Add(absl::string_view key, int64_t delta);
  bool Delete(absl::string_view key);

  // The value, or null. Valid until the next change.
  const std::string* Find(absl::string_view key) const;

 private:
  absl::flat_hash_map<std::string, std::string> values_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_TRANSPORTS_STORE_KEY_TABLE_H_
