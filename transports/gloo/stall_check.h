// Finds out why an operation does not move: ranks that wait tell each other, through the store, what they wait in. Costs nothing
// while operations move.
#ifndef LOCKSTEP_TRANSPORTS_GLOO_STALL_CHECK_H_
#define LOCKSTEP_TRANSPORTS_GLOO_STALL_CHECK_H_

#include <cstdint>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "transports/host/operation.h"
#include "transports/host/standing.h"
#include "transports/store/store.h"

namespace lockstep {

// One for each communicator.
class StallCheck {
 public:
  // While an operation is waited for; by the thread that runs operations. Takes back, at its end, what was told of it.
  class During {
   public:
    During(StallCheck& check, const Operation& operation, int64_t collective) : check_(check) {
      check_.Enter(operation, collective);
    }
    ~During() { check_.Leave(); }
    During(const During&) = delete;
    During& operator=(const During&) = delete;

   private:
    StallCheck& check_;
  };

  // How long an operation may stand before its ranks begin to ask.
  static constexpr absl::Duration kPatience = absl::Milliseconds(200);

  StallCheck(Store& store, int rank, int size) : store_(store), rank_(rank), size_(size) {}

  // To be called every now and then, by another thread. FAILED_PRECONDITION once ranks are found in operations that do not fit, which is then for
  // sure; else OK, also if the store does not answer. May wait for the store.
  absl::Status Check();

 private:
  void Enter(const Operation& operation, int64_t collective);
  void Leave();

  struct Current {
    Standing standing;
    absl::Time since;
    absl::Time next_check;
    bool told = false;
  };

  // Copies what stands long enough to be checked now.
  bool IsDue(Standing& standing, bool& told);
  // False if the store does not answer, or the operation has ended meanwhile.
  bool Tell(const Standing& standing);
  absl::Status Compare(const Standing& own);
  // What rank `rank` has told, if it stands too.
  bool Ask(int rank, Standing& standing);

  Store& store_;
  const int rank_, size_;
  absl::Mutex mu_;
  absl::optional<Current> current_ ABSL_GUARDED_BY(mu_);
  absl::Status
      suspicion_;  // by Check's thread alone: what the check before found, and will be believed if this one finds it too
};

}  // namespace lockstep

#endif  // LOCKSTEP_TRANSPORTS_GLOO_STALL_CHECK_H_
