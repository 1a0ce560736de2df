// Where the ranks of an in-process communicator meet: one queue of started operations a rank, matched at their heads.
//
// A collective runs when it stands at the head of every rank's queue, a message when a send and its recv do. Whoever makes
// that happen runs it for all concerned.
#ifndef LOCKSTEP_TRANSPORTS_IN_PROCESS_HUB_H_
#define LOCKSTEP_TRANSPORTS_IN_PROCESS_HUB_H_

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "transports/host/operation.h"

namespace lockstep {

// Thread-safe. One thread at a time starts operations for a rank.
class Hub {
 public:
  explicit Hub(int size);

  int size() const { return size_; }

  // Takes a place. ALREADY_EXISTS if `rank` has come before.
  absl::Status Join(int rank);
  // Waits until all have joined. DEADLINE_EXCEEDED names those missing, and takes this rank's place away from it.
  absl::Status WaitForAll(int rank, absl::Time deadline);
  // `rank` will start nothing more; what others need of it fails.
  void Leave(int rank);

  void Start(int rank, absl::Span<const Operation> operations);  // one, or a group
  absl::Status Wait(int rank, int64_t sequence);
  bool Done(int rank, int64_t sequence) const;
  int Source(int rank, int64_t sequence) const;  // as Work::source
  void Fail(int rank, const absl::Status& why);  // `why` is an error
  absl::Status health(int rank) const;

 private:
  // How many operations a rank may have started and not finished; Start waits beyond that.
  static constexpr int64_t kQueued = 1024;

  struct Rank {
    bool joined = false;
    std::array<Operation, kQueued> queue;
    std::array<int, kQueued> sources;  // of receives that have ended
    std::array<bool, kQueued> done;    // of those from `finished` on: ended before others of their group
    int64_t started = 0;
    int64_t finished = 0;     // those before have ended well
    int64_t collectives = 0;  // of which so many were collectives
    absl::Status failure;     // of all from `finished` on
    std::string gone;         // why peers cannot count on it any more; empty: they can
    const Operation& at(int64_t sequence) const { return queue[static_cast<size_t>(sequence % kQueued)]; }
    const Operation* head() const { return finished < started ? &queue[finished % kQueued] : nullptr; }
  };

  void Advance() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool Stands(int rank) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool FailForMismatch() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool RunOne() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool RunCollective() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // The first operation that `rank` may run now, is one of those wanted, and is not done: its head, or of its head's group.
  const Operation* Find(int rank, absl::FunctionRef<bool(const Operation&)> wanted) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  const Operation* FindCollective(int rank) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Finish(int rank, const Operation& operation) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool RunMessage(int rank) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool FailForGonePeers() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void FailLocked(int rank, absl::Status why) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Expire(int rank) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  std::string Describe(int rank, const Operation& operation) const;
  std::string DescribeAbsent(int rank) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  std::string Position(int rank) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  int FirstGonePeer(int rank) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const int size_;
  mutable absl::Mutex mu_;
  std::vector<std::unique_ptr<Rank>> ranks_ ABSL_GUARDED_BY(mu_);
};

// The hub `key` of this process, made by the first who asks; forgotten once all its ranks have it.
std::shared_ptr<Hub> FindOrMakeHub(const std::string& key, int size);

}  // namespace lockstep

#endif  // LOCKSTEP_TRANSPORTS_IN_PROCESS_HUB_H_
