#include "transports/in_process/hub.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "transports/in_process/execute.h"

namespace lockstep {

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

int64_t Hub::Start(int rank, Operation operation) {
  absl::MutexLock lock(&mu_);
  Rank& own = *ranks_[rank];
  const auto has_room = [&own] { return own.started - own.finished < kQueued || !own.failure.ok(); };
  if (!mu_.AwaitWithDeadline(absl::Condition(&has_room), operation.deadline)) Expire(rank);
  const int64_t sequence = own.started++;
  if (!own.failure.ok()) return sequence;
  operation.sequence = sequence;
  own.queue[sequence % kQueued] = operation;
  Advance();
  return sequence;
}

absl::Status Hub::Wait(int rank, int64_t sequence) {
  absl::MutexLock lock(&mu_);
  Rank& own = *ranks_[rank];
  while (own.finished <= sequence && own.failure.ok()) {
    // The head's deadline counts as well: what is before an operation holds it up.
    const absl::Time deadline = std::min(own.queue[sequence % kQueued].deadline, own.queue[own.finished % kQueued].deadline);
    const int64_t head = own.finished;
    const auto moved = [&own, head] { return own.finished > head || !own.failure.ok(); };
    if (!mu_.AwaitWithDeadline(absl::Condition(&moved), deadline)) Expire(rank);
  }
  return own.finished > sequence ? absl::OkStatus() : own.failure;
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

// What `rank` stands in, for others' errors.
std::string Hub::Position(int rank) {
  const Rank& r = *ranks_[rank];
  if (const Operation* head = r.head()) return absl::StrCat("rank ", rank, " is in ", DescribeOperation(*head));
  if (r.started == 0) return absl::StrCat("rank ", rank, " has started nothing yet");
  return absl::StrCat("rank ", rank, "'s last was ", DescribeOperation(r.queue[(r.started - 1) % kQueued]));
}

std::string Hub::DescribeAbsent(int rank) {
  const Operation& waiting = *ranks_[rank]->head();
  if (!IsCollective(waiting.kind)) return Position(waiting.peer);
  std::vector<std::string> absent;
  for (int r = 0; r < size(); ++r) {
    const Operation* head = ranks_[r]->head();
    if (head == nullptr || !IsCollective(head->kind)) absent.push_back(Position(r));
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
    late.emplace_back(r, absl::DeadlineExceededError(absl::StrCat("in_process: rank ", r, ": ", DescribeOperation(*head),
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
  if (RunCollective()) return true;
  for (int rank = 0; rank < size(); ++rank) {
    if (RunMessage(rank)) return true;
  }
  return FailForGonePeers();
}

bool Hub::RunCollective() {
  const Operation* const first = ranks_[0]->head();
  if (first == nullptr) return false;
  for (const auto& rank : ranks_) {
    const Operation* head = rank->head();
    if (head == nullptr || !rank->failure.ok() || !IsCollective(head->kind)) return false;
  }
  for (int rank = 1; rank < size(); ++rank) {
    const Operation& other = *ranks_[rank]->head();
    if (SameSignature(*first, other)) continue;
    const absl::Status mismatch = absl::FailedPreconditionError(
        absl::StrCat("in_process: ranks called different operations: rank 0 ", DescribeOperation(*first), ", rank ", rank,
                     " ", DescribeOperation(other), "; all ranks must call the same ones in the same order"));
    for (int r = 0; r < size(); ++r) FailLocked(r, mismatch);
    return false;
  }
  ExecuteCollective(size(), [this](int rank) -> const Operation& {
    mu_.AssertHeld();
    return *ranks_[rank]->head();
  });
  for (const auto& rank : ranks_) ++rank->finished;
  return true;
}

bool Hub::RunMessage(int rank) {
  const Operation* const send = ranks_[rank]->head();
  if (send == nullptr || send->kind != OperationKind::kSend || !ranks_[rank]->failure.ok()) return false;
  Rank& peer = *ranks_[send->peer];
  const Operation* const recv = peer.head();
  if (recv == nullptr || recv->kind != OperationKind::kRecv || recv->peer != rank || !peer.failure.ok()) return false;
  const bool fit = recv->tag == send->tag && recv->out.dtype == send->in.dtype && recv->out.count == send->in.count;
  if (!fit) {
    const absl::Status mismatch = absl::FailedPreconditionError(absl::StrCat("in_process: send and recv do not fit: rank ",
                                                                             rank, " ", DescribeOperation(*send), ", rank ",
                                                                             send->peer, " ", DescribeOperation(*recv)));
    const int to = send->peer;
    FailLocked(rank, mismatch);
    FailLocked(to, mismatch);
    return false;
  }
  if (send->in.count > 0) std::memcpy(recv->out.data, send->in.data, static_cast<size_t>(send->in.bytes()));
  ++ranks_[rank]->finished;
  ++peer.finished;
  return true;
}

int Hub::FirstGonePeer(int rank) {
  const Operation& head = *ranks_[rank]->head();
  for (int r = 0; r < size(); ++r) {
    if (r != rank && !ranks_[r]->gone.empty() && (IsCollective(head.kind) || head.peer == r)) return r;
  }
  return -1;
}

// Fails one rank that waits for one that is gone; true if there was one.
bool Hub::FailForGonePeers() {
  for (int rank = 0; rank < size(); ++rank) {
    Rank& own = *ranks_[rank];
    if (own.head() == nullptr || !own.failure.ok()) continue;
    const int peer = FirstGonePeer(rank);
    if (peer < 0) continue;
    FailLocked(rank, absl::UnavailableError(absl::StrCat("in_process: rank ", rank, ": ", DescribeOperation(*own.head()),
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
