// A part of another store: every key gets a prefix, so that uses that share one store cannot meet each other's keys.
//
//   PrefixStore buckets(*store, "buckets");       // Set("0/address") there is Set("buckets/0/address") here
#ifndef LOCKSTEP_TRANSPORTS_STORE_PREFIX_STORE_H_
#define LOCKSTEP_TRANSPORTS_STORE_PREFIX_STORE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "transports/store/store.h"

namespace lockstep {

// As thread-safe as the store beneath. The prefix counts towards a key's 1 KiB; errors name the whole key.
class PrefixStore : public Store {
 public:
  // `store` must outlive this one.
  PrefixStore(Store& store, absl::string_view prefix);
  // Shares ownership of `store`, which must not be null.
  PrefixStore(std::shared_ptr<Store> store, absl::string_view prefix);

  absl::Status Set(absl::string_view key, absl::string_view value) override;
  absl::StatusOr<std::string> Get(absl::string_view key, absl::Duration timeout) override;
  absl::StatusOr<int64_t> Add(absl::string_view key, int64_t delta) override;
  absl::StatusOr<bool> Contains(absl::string_view key) override;
  absl::StatusOr<bool> Delete(absl::string_view key) override;
  std::string Describe() const override;

 private:
  std::string Whole(absl::string_view key) const;

  const std::shared_ptr<Store> owned_;  // null: the caller owns it
  Store& store_;
  const std::string prefix_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_TRANSPORTS_STORE_PREFIX_STORE_H_
