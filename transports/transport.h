// How bytes move between ranks: the whole interface, readable in one sitting.
//
//   absl::StatusOr<std::unique_ptr<Communicator>> comm = transport->Connect(*store, {.rank = 0, .size = 2});
//   Work work = (*comm)->AllReduce(gradient, gradient, ReduceOp::kSum, {.name = "bucket 3"});   // in place, started
//   absl::Status status = work.Wait();                                                           // done, or why not
//
// A Transport is a way to connect (gloo, in_process, ...), chosen by name from registry.h or handed over as an object.
// A Communicator is a fixed set of connected ranks. Nothing here knows of training.
//
// Errors name the rank, the operation (kind, name, sequence number, dtype and count), what was expected, what to try:
//   INVALID_ARGUMENT     the caller's value: nothing was sent, this rank's later operations still work
//   DEADLINE_EXCEEDED    a peer did not take part in time          UNAVAILABLE  a peer is gone
//   FAILED_PRECONDITION  ranks called different things, or the communicator was closed
//   RESOURCE_EXHAUSTED   this rank has no memory for an arena     INTERNAL     Abort was called with OK
// After any but the first the communicator has failed: that operation and all later ones end with that status, and pending
// ones too. A failed communicator stays failed; make a new one.
#ifndef LOCKSTEP_TRANSPORTS_TRANSPORT_H_
#define LOCKSTEP_TRANSPORTS_TRANSPORT_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "transports/arena.h"
#include "transports/buffer.h"
#include "transports/reduce_op.h"
#include "transports/store/store.h"

namespace lockstep {

class Communicator;

// In place of the rank of a sender.
inline constexpr int kAnyRank = -1;

// A device's queue of work (a cudaStream_t), or none on the CPU. Not owned.
struct Stream {
  void* handle = nullptr;
};

// What a caller may add to any operation; all may stay empty.
struct CallOptions {
  absl::string_view name = {};                    // for errors and traces; the first 47 bytes are kept
  absl::Duration timeout = absl::ZeroDuration();  // zero: the communicator's own (ConnectOptions::timeout)
  Stream after = {};                              // the stream that produces the input; nothing to say on the CPU
  double premultiplier = 1.0;                     // for ReduceOp::kPremulSum
};

// A started operation: {communicator, sequence number}. Copying it allocates nothing; it may be dropped (the operation goes
// on). Valid while its communicator lives. Any thread may wait, several at once.
class Work {
 public:
  Work() = default;  // no operation: Wait gives FAILED_PRECONDITION
  Work(Communicator* communicator, int64_t sequence) : communicator_(communicator), sequence_(sequence) {}

  // The host waits until the operation has ended and returns its status. Ends at the operation's deadline at the latest.
  absl::Status Wait() const;
  // Whether the operation has ended, well or not. Never waits.
  bool Done() const;
  // A CUDA stream waits for the operation, the host goes on; on CPU transports nothing is left to do, since streams only
  // order device memory.
  void BlockStream(Stream stream) const;

  // Of a Recv that has ended well: the rank whose message it took; else -1. Known until 1,024 operations have been started
  // after it.
  int source() const;

  int64_t sequence() const { return sequence_; }

 private:
  Communicator* communicator_ = nullptr;
  int64_t sequence_ = -1;
};

// A fixed set of ranks. One thread at a time issues operations; all ranks issue the same ones in the same order, and they
// run in that order. Any thread may wait or abort. The destructor aborts what is pending and joins the transport's threads.
class Communicator {
 public:
  virtual ~Communicator() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;

  // Collectives. All ranks give the same op, root and dtype, and counts that fit together, else FAILED_PRECONDITION on all.
  // Those that do not reduce take any dtype. `in` and `out` are memory apart, or in place as said. The forms with a V take one
  // count a rank, in elements; the plain ones give every rank as much.

  // `out` becomes the reduction over all ranks' `in`, bit for bit the same on every rank. In place: in.data == out.data.
  virtual Work AllReduce(ConstBuffer in, Buffer out, ReduceOp op, const CallOptions& options = {}) = 0;

  // The same, on rank `root` only: elsewhere `out` is not looked at.
  virtual Work Reduce(ConstBuffer in, Buffer out, ReduceOp op, int root, const CallOptions& options = {}) = 0;

  // `in` is one part for each rank, one after the other; `out` becomes the reduction over all ranks' parts for this one. In
  // place: `out` is this rank's own part of `in`.
  virtual Work ReduceScatter(ConstBuffer in, Buffer out, ReduceOp op, const CallOptions& options = {}) = 0;
  virtual Work ReduceScatterV(ConstBuffer in, Buffer out, absl::Span<const int64_t> counts, ReduceOp op,
                              const CallOptions& options = {}) = 0;

  // `inout` of every rank becomes that of rank `root`.
  virtual Work Broadcast(Buffer inout, int root, const CallOptions& options = {}) = 0;

  // `out` becomes the ranks' `in` one after the other, rank 0 first. In place: `in` is this rank's own part of `out`.
  virtual Work AllGather(ConstBuffer in, Buffer out, const CallOptions& options = {}) = 0;
  virtual Work AllGatherV(ConstBuffer in, Buffer out, absl::Span<const int64_t> counts, const CallOptions& options = {}) = 0;

  // The same, on rank `root` only: elsewhere `out` and `counts` are not looked at.
  virtual Work Gather(ConstBuffer in, Buffer out, int root, const CallOptions& options = {}) = 0;
  virtual Work GatherV(ConstBuffer in, Buffer out, absl::Span<const int64_t> counts, int root,
                       const CallOptions& options = {}) = 0;

  // `out` becomes this rank's part of rank `root`'s `in`; elsewhere `in` and `counts` are not looked at. In place, on the root:
  // `out` is its own part of `in`.
  virtual Work Scatter(ConstBuffer in, Buffer out, int root, const CallOptions& options = {}) = 0;
  virtual Work ScatterV(ConstBuffer in, absl::Span<const int64_t> counts, Buffer out, int root,
                        const CallOptions& options = {}) = 0;

  // Part p of `in` goes to rank p, and part p of `out` comes from it. Never in place.
  virtual Work AllToAll(ConstBuffer in, Buffer out, const CallOptions& options = {}) = 0;
  virtual Work AllToAllV(ConstBuffer in, absl::Span<const int64_t> in_counts, Buffer out,
                         absl::Span<const int64_t> out_counts, const CallOptions& options = {}) = 0;

  // Ends when every rank has entered it.
  virtual Work Barrier(const CallOptions& options = {}) = 0;

  // A message to one peer: matched with its Recv of the same tag, count and dtype, and ended once taken over there. Takes
  // its turn among this rank's operations, so two ranks must not both send first, but in an OperationGroup. Any dtype; tags are
  // 0 to 2^16 - 1.
  virtual Work Send(ConstBuffer in, int to, int tag, const CallOptions& options = {}) = 0;
  // `from` may be kAnyRank; Work::source tells whose message it was.
  virtual Work Recv(Buffer out, int from, int tag, const CallOptions& options = {}) = 0;

  // A communicator of those ranks that give the same `color`, ordered by `key`, then by rank here. Collective over this
  // communicator, and waits; color < 0: not a member, null. It shares no order with this one and may outlive it, not the
  // store.
  virtual absl::StatusOr<std::unique_ptr<Communicator>> Split(int color, int key) = 0;

  // Memory for buckets: collective, `bytes` equal on all ranks (else FAILED_PRECONDITION on all), zeroed. See arena.h.
  // INVALID_ARGUMENT on all below 0. RESOURCE_EXHAUSTED on a rank that has none: peers, which may have theirs, learn it from
  // their next operation.
  virtual absl::StatusOr<Arena> CreateArena(int64_t bytes) = 0;

  // Does what is ready and returns; nothing to do where the transport's own thread drives operations.
  virtual void Progress() = 0;

  // Every pending and later operation ends with `why`, within milliseconds; peers learn it from their pending or next one. Any
  // thread; the first call counts. An OK is replaced by INTERNAL.
  virtual void Abort(absl::Status why) = 0;

  // The status that Abort or a failed operation left, else OK. Never waits.
  virtual absl::Status health() const = 0;

 protected:
  friend class Work;
  virtual absl::Status WaitFor(int64_t sequence) = 0;
  virtual bool IsDone(int64_t sequence) const = 0;
  virtual int SourceOf(int64_t sequence) const = 0;
  virtual void BlockStreamOn(int64_t sequence, Stream stream) = 0;

  friend class OperationGroup;
  virtual void BeginGroup() = 0;
  virtual void EndGroup() = 0;
};

// Operations issued while it lives start together when it goes, so that messages among them need no order:
//
//   {
//     OperationGroup together(*comm);
//     sent = comm->Send(mine, next, 0);
//     received = comm->Recv(theirs, previous, 0);
//   }
//   status = received.Wait();
//
// Collectives of a group run in order. At most 1,024 operations; further ones are INVALID_ARGUMENT. One of a group's operations
// cannot be waited for before the group has ended: FAILED_PRECONDITION. Groups in groups are one group. The same thread issues.
class OperationGroup {
 public:
  explicit OperationGroup(Communicator& communicator) : communicator_(communicator) { communicator_.BeginGroup(); }
  ~OperationGroup() { communicator_.EndGroup(); }
  OperationGroup(const OperationGroup&) = delete;
  OperationGroup& operator=(const OperationGroup&) = delete;

 private:
  Communicator& communicator_;
};

struct ConnectOptions {
  int rank = 0;
  int size = 1;
  absl::Duration timeout = absl::Minutes(10);  // for Connect, and for operations that name no timeout of their own
  std::string host = {};  // this rank's name or address as peers reach it; empty: the transport finds one
};

// A way to connect. Thread-safe.
class Transport {
 public:
  virtual ~Transport() = default;

  // The name it is chosen by: "gloo".
  virtual absl::string_view name() const = 0;

  // Connects this rank with its `size` - 1 peers, which meet in `store`. Every rank calls it with the same size; waits for
  // all, up to the timeout. The store outlives the communicator; keys are not removed, so give each use a PrefixStore.
  virtual absl::StatusOr<std::unique_ptr<Communicator>> Connect(Store& store, const ConnectOptions& options) = 0;
};

inline absl::Status Work::Wait() const {
  return communicator_ == nullptr ? absl::FailedPreconditionError("Wait on a Work that stands for no operation")
                                  : communicator_->WaitFor(sequence_);
}
inline bool Work::Done() const { return communicator_ == nullptr || communicator_->IsDone(sequence_); }
inline int Work::source() const { return communicator_ == nullptr ? -1 : communicator_->SourceOf(sequence_); }
inline void Work::BlockStream(Stream stream) const {
  if (communicator_ != nullptr) communicator_->BlockStreamOn(sequence_, stream);
}

}  // namespace lockstep

#endif  // LOCKSTEP_TRANSPORTS_TRANSPORT_H_
