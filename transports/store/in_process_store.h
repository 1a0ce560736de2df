// A store for ranks that are threads of one process: tests, and the in-process transport. No socket, no thread of its own.
//
//   InProcessStore store;                            // one object, shared by all ranks
//   transport.Connect(store, {.rank = r, .size = n})   // on each rank's thread
#ifndef LOCKSTEP_TRANSPORTS_STORE_IN_PROCESS_STORE_H_
#define LOCKSTEP_TRANSPORTS_STORE_IN_PROCESS_STORE_H_

#include <cstdint>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "transports/store/key_table.h"
#include "transports/store/store.h"

namespace lockstep {

// Thread-safe. Never UNAVAILABLE: it lives as long as its users' process.
class InProcessStore : public Store {
 public:
  absl::Status Set(absl::string_view key, absl::string_view value) override;
  absl::StatusOr<std::string> Get(absl::string_view key, absl::Duration timeout) override;
  absl::StatusOr<int64_t> Add(absl::string_view key, int64_t delta) override;
  absl::StatusOr<bool> Contains(absl::string_view key) override;
  absl::StatusOr<bool> Delete(absl::string_view key) override;
  std::string Describe() const override { return "in-process store"; }

 private:
  absl::Mutex mu_;
  KeyTable table_ ABSL_GUARDED_BY(mu_);
};

}  // namespace lockstep

#endif  // LOCKSTEP_TRANSPORTS_STORE_IN_PROCESS_STORE_H_
