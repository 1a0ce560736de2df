#include "transports/gloo/stall_check.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "transports/gloo/call_record.h"

namespace lockstep {
namespace {

// Checks become rarer as an operation stands longer: who comes later checks by itself, soon.
constexpr absl::Duration kRarest = absl::Seconds(5);
constexpr absl::Duration kAnswerTime = absl::Seconds(1);

std::string StallKey(int rank) { return absl::StrCat("stall/", rank); }

}  // namespace

void StallCheck::Enter(const Operation& operation, int64_t collective) {
  const absl::Time now = absl::Now();
  absl::MutexLock lock(&mu_);
  current_ = Current{{rank_, operation, collective}, now, now + kPatience};
}

void StallCheck::Leave() {
  bool told;
  {
    absl::MutexLock lock(&mu_);
    told = current_->told;
    current_.reset();
  }
  if (told) store_.Delete(StallKey(rank_)).IgnoreError();  // else it is gone with the store
}

absl::Status StallCheck::Check() {
  Standing own;
  bool told = false;
  if (!IsDue(own, told)) return absl::OkStatus();
  if (!told && !Tell(own)) return absl::OkStatus();
  // What a rank told may be of an operation that it is just leaving. Found twice, it is not.
  const absl::Status before = std::exchange(suspicion_, Compare(own));
  return before == suspicion_ ? before : absl::OkStatus();
}

bool StallCheck::IsDue(Standing& standing, bool& told) {
  const absl::Time now = absl::Now();
  absl::MutexLock lock(&mu_);
  if (!current_.has_value()) {
    suspicion_ = absl::OkStatus();
    return false;
  }
  if (now < current_->next_check) return false;
  // Right after the first check there is a second one, which confirms.
  const absl::Duration stood = now - current_->since;
  current_->next_check = now + std::min(stood < 2 * kPatience ? kPatience / 2 : stood / 2, kRarest);
  standing = current_->standing;
  told = current_->told;
  return true;
}

bool StallCheck::Tell(const Standing& standing) {
  const gloo_wire::Call call = RecordCall(standing.operation, standing.collective, size_);
  if (!store_.Set(StallKey(rank_), call.SerializeAsString()).ok()) return false;
  {
    absl::MutexLock lock(&mu_);
    if (current_.has_value() && current_->standing.operation.sequence == standing.operation.sequence) {
      current_->told = true;
      return true;
    }
  }
  store_.Delete(StallKey(rank_)).IgnoreError();  // it has ended meanwhile
  return false;
}

absl::Status StallCheck::Compare(const Standing& own) {
  for (int rank = 0; rank < size_; ++rank) {
    Standing theirs;
    if (rank == rank_ || !Ask(rank, theirs)) continue;
    if (absl::Status status = CheckStandings(own, theirs, size_); !status.ok()) return status;
  }
  return absl::OkStatus();
}

bool StallCheck::Ask(int rank, Standing& standing) {
  const absl::StatusOr<bool> stands = store_.Contains(StallKey(rank));
  if (!stands.ok() || !*stands) return false;
  const absl::StatusOr<std::string> bytes = store_.Get(StallKey(rank), kAnswerTime);
  gloo_wire::Call call;
  if (!bytes.ok() || !call.ParseFromString(*bytes)) return false;
  standing = {rank, OperationOf(call, size_), call.collective()};
  return true;
}

}  // namespace lockstep
