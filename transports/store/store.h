// A mailbox that ranks fill and read while they find each other.
//
//   store->Set("0/address", "10.0.0.1:4000");
//   absl::StatusOr<std::string> address = store->Get("0/address", absl::Seconds(30));   // waits for the key
//
// Thread-safe: any thread may call, and a Get that waits delays no other call. Outlives every communicator made through it.
// Keys hold up to 1 KiB, values up to 64 MiB; longer ones are INVALID_ARGUMENT. Errors name the key, the store and its
// address; UNAVAILABLE means that the store's server is gone, and that every further call fails at once.
#ifndef LOCKSTEP_TRANSPORTS_STORE_STORE_H_
#define LOCKSTEP_TRANSPORTS_STORE_STORE_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace lockstep {

inline constexpr int64_t kMaxStoreKeyBytes = 1 << 10;
inline constexpr int64_t kMaxStoreValueBytes = 64 << 20;

class Store {
 public:
  virtual ~Store() = default;

  // Sets `key`, replacing what was there, and wakes those who wait for it.
  virtual absl::Status Set(absl::string_view key, absl::string_view value) = 0;

  // Waits until `key` exists and returns its value. DEADLINE_EXCEEDED after `timeout`, naming the key.
  virtual absl::StatusOr<std::string> Get(absl::string_view key, absl::Duration timeout) = 0;

  // Adds `delta` to the decimal number under `key` (0 if absent), stores and returns the sum. Atomic over all ranks.
  // INVALID_ARGUMENT if the value there is no number; the value stays.
  virtual absl::StatusOr<int64_t> Add(absl::string_view key, int64_t delta) = 0;

  // Whether `key` exists now. Never waits for it.
  virtual absl::StatusOr<bool> Contains(absl::string_view key) = 0;

  // Removes `key`; returns whether it was there.
  virtual absl::StatusOr<bool> Delete(absl::string_view key) = 0;

  // "tcp store at 127.0.0.1:4000", for errors.
  virtual std::string Describe() const = 0;
};

}  // namespace lockstep

#endif  // LOCKSTEP_TRANSPORTS_STORE_STORE_H_
