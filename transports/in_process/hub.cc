#include "transports/in_process/hub.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "transports/host/operation_text.h"
#include "transports/host/shared_execute.h"
#include "transports/host/standing.h"

namespace lockstep {

namespace {

absl::Status WithPrefix(const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat("in_process: ", status.message()));
}

}  // namespace

Hub::Hub(int size) : size_(size) {
  for (int rank = 0; rank < size; ++rank) ranks_.push_back(std::make_unique<Rank>());
}

absl::Status Hub::Join(int rank) {
  absl::MutexLock lock(&mu_);
  if (ranks_[rank]->joined) {
    return absl::AlreadyExistsError(
        absl::StrCat("in_process: rank ", rank, " is here already; give each thread its own rank"));
  }
  ranks_[rank]->joined = true;
  return absl::OkStatus();
}

absl::Status Hub::WaitForAll(int rank, absl::Time deadline) {
  absl::MutexLock lock(&mu_);
  const auto all_here = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return std::all_of(ranks_.begin(), ranks_.end(), [](const auto& r) { return r->joined; });
  };
  if (mu_.AwaitWithDeadline(absl::Condition(&all_here), deadline)) return absl::OkStatus();
  std::vector<int> missing;
  for (int r = 0; r < size(); ++r) {
    if (!ranks_[r]->joined) missing.push_back(r);
  }
  ranks_[rank]->joined = false;
  return absl::DeadlineExceededError(absl::StrCat("in_process: rank ", rank, " waited for ranks ",
                                                  absl::StrJoin(missing, ", "), ", which did not connect"));
}

void Hub::Leave(int rank) {
  absl::MutexLock lock(&mu_);
  if (ranks_[rank]->gone.empty()) ranks_[rank]->gone = absl::StrCat("rank ", rank, " has left");
  if (ranks_[rank]->failure.ok()) ranks_[rank]->failure = absl::CancelledError("in_process: the communicator was destroyed");
  Advance();
}

void Hub::Start(int rank, absl::Span<const Operation> operations) {
  const auto count = static_cast<int64_t>(operations.size());
  absl::MutexLock lock(&mu_);
  Rank& own = *ranks_[rank];
  const auto has_room = [&own, count] { return own.started + count - own.finished <= kQueued || !own.failure.ok(); };
  if (!mu_.AwaitWithDeadline(absl::Condition(&has_room), operations[0].deadline)) Expire(rank);
  for (const Operation& operation : operations) {
    const int64_t sequence = own.started++;
    const auto slot = static_cast<size_t>(sequence % kQueued);
    own.queue[slot] = operation;
    own.queue[slot].sequence = sequence;
    own.done[slot] = false;
  }
  if (own.failure.ok()) Advance();
}

absl::Status Hub::Wait(int rank, int64_t sequence) {
  absl::MutexLock lock(&mu_);
  Rank& own = *ranks_[rank];
  while (own.finished <= sequence && own.failure.ok()) {
    // The head's deadline counts as well: what is before an operation holds it up.
    const absl::Time deadline = std::min(own.at(sequence).deadline, own.at(own.finished).deadline);
    const int64_t head = own.finished;
    const auto moved = [&own, head] { return own.finished > head || !own.failure.ok(); };
    if (!mu_.AwaitWithDeadline(absl::Condition(&moved), deadline)) Expire(rank);
  }
  return own.finished > sequence ? absl::OkStatus() : own.failure;
}

int Hub::Source(int rank, int64_t sequence) const {
  absl::MutexLock lock(&mu_);
  const Rank& own = *ranks_[rank];
  const auto slot = static_cast<size_t>(sequence % kQueued);
  if ((own.finished <= sequence && !own.done[slot]) || own.started > sequence + kQueued) return -1;
  return own.queue[slot].kind == OperationKind::kRecv ? own.sources[slot] : -1;
}

bool Hub::Done(int rank, int64_t sequence) const {
  absl::MutexLock lock(&mu_);
  const Rank& own = *ranks_[rank];
  return own.finished > sequence || !own.failure.ok();
}

void Hub::Fail(int rank, const absl::Status& why) {
  absl::MutexLock lock(&mu_);
  FailLocked(rank, why);
  Advance();
}

absl::Status Hub::health(int rank) const {
  absl::MutexLock lock(&mu_);
  return ranks_[rank]->failure;
}

void Hub::FailLocked(int rank, absl::Status why) {
  Rank& own = *ranks_[rank];
  if (!own.failure.ok()) return;
  if (own.gone.empty()) own.gone = absl::StrCat("rank ", rank, " has failed (", why.message(), ")");
  own.failure = std::move(why);
}

std::string Hub::Describe(int rank, const Operation& operation) const { return DescribeOperation(operation, rank, size_); }

// What `rank` stands in, for others' errors.
std::string Hub::Position(int rank) {
  const Rank& r = *ranks_[rank];
  if (const Operation* head = r.head()) return absl::StrCat("rank ", rank, " is in ", Describe(rank, *head));
  if (r.started == 0) return absl::StrCat("rank ", rank, " has started nothing yet");
  return absl::StrCat("rank ", rank, "'s last was ", Describe(rank, r.queue[(r.started - 1) % kQueued]));
}

std::string Hub::DescribeAbsent(int rank) {
  const Operation& waiting = *ranks_[rank]->head();
  if (!IsCollective(waiting.kind) && waiting.peer != kAnyRank) return Position(waiting.peer);
  std::vector<std::string> absent;
  for (int r = 0; r < size(); ++r) {
    const Operation* head = ranks_[r]->head();
    if (r != rank && (head == nullptr || !IsCollective(head->kind) || !IsCollective(waiting.kind)))
      absent.push_back(Position(r));
  }
  return absl::StrJoin(absent, "; ");
}

// The deadline of what `rank` waits for is over, and with it that of all who wait in the same operation.
void Hub::Expire(int rank) {
  const bool collective = IsCollective(ranks_[rank]->head()->kind);
  std::vector<std::pair<int, absl::Status>> late;
  for (int r = 0; r < size(); ++r) {
    const Operation* const head = ranks_[r]->head();
    if (r != rank && (!collective || head == nullptr || !IsCollective(head->kind))) continue;
    late.emplace_back(r, absl::DeadlineExceededError(absl::StrCat("in_process: rank ", r, ": ", Describe(r, *head),
                                                                  " waited until its deadline; ", DescribeAbsent(r))));
  }
  for (auto& [r, status] : late) FailLocked(r, std::move(status));
  Advance();
}

void Hub::Advance() {
  while (RunOne()) {
  }
}

bool Hub::RunOne() {
  if (FailForMismatch() || RunCollective()) return true;
  for (int rank = 0; rank < size(); ++rank) {
    if (RunMessage(rank)) return true;
  }
  return FailForGonePeers();
}

// Whether `rank` stands in an operation that may still run.
bool Hub::Stands(int rank) const { return ranks_[rank]->head() != nullptr && ranks_[rank]->failure.ok(); }

// Fails all ranks if two of them stand in operations that do not fit.
bool Hub::FailForMismatch() {
  for (int a = 0; a < size() - 1; ++a) {
    for (int b = a + 1; b < size(); ++b) {
      if (!Stands(a) || !Stands(b)) continue;
      // Of a group, its collective: its messages hold up nothing.
      const Operation *const a_collective = FindCollective(a), *const b_collective = FindCollective(b);
      const Standing one = {a, a_collective != nullptr ? *a_collective : *ranks_[a]->head(), ranks_[a]->collectives};
      const Standing other = {b, b_collective != nullptr ? *b_collective : *ranks_[b]->head(), ranks_[b]->collectives};
      const absl::Status mismatch = CheckStandings(one, other, size());
      if (mismatch.ok()) continue;
      for (int r = 0; r < size(); ++r) FailLocked(r, WithPrefix(mismatch));
      return true;
    }
  }
  return false;
}

const Operation* Hub::Find(int rank, absl::FunctionRef<bool(const Operation&)> wanted) {
  if (!Stands(rank)) return nullptr;
  const Rank& own = *ranks_[rank];
  const int64_t end = own.finished + own.head()->group_left;
  for (int64_t sequence = own.finished; sequence <= end; ++sequence) {
    const Operation& operation = own.at(sequence);
    if (!own.done[static_cast<size_t>(sequence % kQueued)] && wanted(operation)) return &operation;
  }
  return nullptr;
}

const Operation* Hub::FindCollective(int rank) {
  return Find(rank, [](const Operation& operation) { return IsCollective(operation.kind); });
}

void Hub::Finish(int rank, const Operation& operation) {
  Rank& own = *ranks_[rank];
  if (IsCollective(operation.kind)) ++own.collectives;
  own.done[static_cast<size_t>(operation.sequence % kQueued)] = true;
  while (own.finished < own.started && own.done[static_cast<size_t>(own.finished % kQueued)]) ++own.finished;
}

bool Hub::RunCollective() {
  for (int rank = 0; rank < size(); ++rank) {
    if (FindCollective(rank) == nullptr) return false;
  }
  ExecuteShared(size(), [this](int rank) -> const Operation& {
    mu_.AssertHeld();
    return *FindCollective(rank);
  });
  for (int rank = 0; rank < size(); ++rank) Finish(rank, *FindCollective(rank));
  return true;
}

bool Hub::RunMessage(int rank) {
  const Operation* recv = nullptr;
  const Operation* const send = Find(rank, [&](const Operation& mine) {
    mu_.AssertHeld();
    if (mine.kind != OperationKind::kSend) return false;
    recv = Find(mine.peer, [&](const Operation& theirs) {
      return (theirs.peer == rank || theirs.peer == kAnyRank) && MessagesMeet(mine, theirs);
    });
    return recv != nullptr;
  });
  if (send == nullptr) return false;
  const int to = send->peer;
  CopyElements(send->in, recv->out);
  ranks_[to]->sources[static_cast<size_t>(recv->sequence % kQueued)] = rank;
  Finish(rank, *send);
  Finish(to, *recv);
  return true;
}

// A gone rank without which `rank` cannot go on, or -1. A message from any rank may come from any that is left.
int Hub::FirstGonePeer(int rank) {
  const Operation& head = *ranks_[rank]->head();
  int gone = -1, left = 0;
  for (int r = size() - 1; r >= 0; --r) {
    if (r == rank || (!IsCollective(head.kind) && head.peer != kAnyRank && head.peer != r)) continue;
    if (ranks_[r]->gone.empty()) {
      ++left;
    } else {
      gone = r;
    }
  }
  return head.peer == kAnyRank && !IsCollective(head.kind) && left > 0 ? -1 : gone;
}

// Fails one rank that waits for one that is gone; true if there was one.
bool Hub::FailForGonePeers() {
  for (int rank = 0; rank < size(); ++rank) {
    Rank& own = *ranks_[rank];
    if (own.head() == nullptr || !own.failure.ok()) continue;
    const int peer = FirstGonePeer(rank);
    if (peer < 0) continue;
    FailLocked(rank, absl::UnavailableError(absl::StrCat("in_process: rank ", rank, ": ", Describe(rank, *own.head()),
                                                         " needs a peer that is gone: ", ranks_[peer]->gone)));
    return true;
  }
  return false;
}

namespace {

struct Meeting {
  std::shared_ptr<Hub> hub;
  int still_to_come = 0;
};

struct Meetings {
  absl::Mutex mu;
  std::map<std::string, Meeting> by_key ABSL_GUARDED_BY(mu);
};

Meetings& AllMeetings() {
  static Meetings* const meetings = new Meetings;
  return *meetings;
}

}  // namespace

std::shared_ptr<Hub> FindOrMakeHub(const std::string& key, int size) {
  Meetings& meetings = AllMeetings();
  absl::MutexLock lock(&meetings.mu);
  Meeting& meeting = meetings.by_key[key];
  if (meeting.hub == nullptr) meeting = {std::make_shared<Hub>(size), size};
  const std::shared_ptr<Hub> hub = meeting.hub;
  if (--meeting.still_to_come == 0) meetings.by_key.erase(key);
  return hub;
}

}  // namespace lockstep
