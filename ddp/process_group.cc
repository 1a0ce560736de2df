#include "ddp/process_group.h"

#include <algorithm>
#include <utility>

#include "absl/status/status_macros.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"

namespace lockstep {
namespace {

CallOptions Named(absl::string_view name) {
  CallOptions options;
  options.name = name;
  return options;
}

std::string GoodbyeOf(int rank) { return absl::StrCat("goodbye/", rank); }
std::string DoneAt(int rank) { return absl::StrCat("goodbye/done/", rank); }
constexpr absl::string_view kGoodbyeOfAll = "goodbye/all";

// All were alive a moment ago, in the barrier before it: who dies now holds up the others no longer than this.
constexpr absl::Duration kGoodbyeTimeout = absl::Seconds(30);

// Rank 0 waits for a key of each other rank; the whole wait ends at `deadline`.
absl::Status WaitForOthers(Store& store, int size, std::string key_of(int rank), absl::Time deadline) {
  for (int rank = 1; rank < size; ++rank) {
    ABSL_RETURN_IF_ERROR(store.Get(key_of(rank), deadline - absl::Now()).status());
  }
  return absl::OkStatus();
}

}  // namespace

ProcessGroup::ProcessGroup(RankInfo info, std::string backend, std::unique_ptr<Communicator> communicator,
                           std::shared_ptr<Store> store, absl::Duration timeout)
    : info_(std::move(info)),
      backend_(std::move(backend)),
      timeout_(timeout),
      store_(std::move(store)),
      communicator_(std::move(communicator)) {}

ProcessGroup::~ProcessGroup() = default;

absl::StatusOr<std::unique_ptr<Communicator>> ProcessGroup::NewCommunicator() {
  ABSL_RETURN_IF_ERROR(CheckAlive("NewCommunicator"));
  absl::StatusOr<std::unique_ptr<Communicator>> everybody = communicator_->Split(/*color=*/0, /*key=*/rank());
  if (!everybody.ok()) return Annotate(everybody.status());
  return everybody;
}

template <typename Issue>
absl::Status ProcessGroup::Run(absl::string_view what, Issue issue, int* source) {
  ABSL_RETURN_IF_ERROR(CheckAlive(what));
  const Work work = issue(*communicator_);
  const absl::Status status = Annotate(work.Wait());
  if (source != nullptr) *source = work.source();
  return status;
}

absl::Status ProcessGroup::AllReduce(Buffer inout, ReduceOp op, const CallOptions& options) {
  return Run("AllReduce", [&](Communicator& c) { return c.AllReduce(inout, inout, op, options); });
}

absl::Status ProcessGroup::Reduce(ConstBuffer in, Buffer out, ReduceOp op, int root, const CallOptions& options) {
  return Run("Reduce", [&](Communicator& c) { return c.Reduce(in, out, op, root, options); });
}

absl::Status ProcessGroup::ReduceScatter(ConstBuffer in, Buffer out, ReduceOp op, const CallOptions& options) {
  return Run("ReduceScatter", [&](Communicator& c) { return c.ReduceScatter(in, out, op, options); });
}

absl::Status ProcessGroup::ReduceScatterV(ConstBuffer in, Buffer out, absl::Span<const int64_t> counts, ReduceOp op,
                                          const CallOptions& options) {
  return Run("ReduceScatterV", [&](Communicator& c) { return c.ReduceScatterV(in, out, counts, op, options); });
}

absl::Status ProcessGroup::Broadcast(Buffer inout, int root, const CallOptions& options) {
  return Run("Broadcast", [&](Communicator& c) { return c.Broadcast(inout, root, options); });
}

absl::Status ProcessGroup::AllGather(ConstBuffer in, Buffer out, const CallOptions& options) {
  return Run("AllGather", [&](Communicator& c) { return c.AllGather(in, out, options); });
}

absl::Status ProcessGroup::AllGatherV(ConstBuffer in, Buffer out, absl::Span<const int64_t> counts,
                                      const CallOptions& options) {
  return Run("AllGatherV", [&](Communicator& c) { return c.AllGatherV(in, out, counts, options); });
}

absl::Status ProcessGroup::Gather(ConstBuffer in, Buffer out, int root, const CallOptions& options) {
  return Run("Gather", [&](Communicator& c) { return c.Gather(in, out, root, options); });
}

absl::Status ProcessGroup::GatherV(ConstBuffer in, Buffer out, absl::Span<const int64_t> counts, int root,
                                   const CallOptions& options) {
  return Run("GatherV", [&](Communicator& c) { return c.GatherV(in, out, counts, root, options); });
}

absl::Status ProcessGroup::Scatter(ConstBuffer in, Buffer out, int root, const CallOptions& options) {
  return Run("Scatter", [&](Communicator& c) { return c.Scatter(in, out, root, options); });
}

absl::Status ProcessGroup::ScatterV(ConstBuffer in, absl::Span<const int64_t> counts, Buffer out, int root,
                                    const CallOptions& options) {
  return Run("ScatterV", [&](Communicator& c) { return c.ScatterV(in, counts, out, root, options); });
}

absl::Status ProcessGroup::AllToAll(ConstBuffer in, Buffer out, const CallOptions& options) {
  return Run("AllToAll", [&](Communicator& c) { return c.AllToAll(in, out, options); });
}

absl::Status ProcessGroup::AllToAllV(ConstBuffer in, absl::Span<const int64_t> in_counts, Buffer out,
                                     absl::Span<const int64_t> out_counts, const CallOptions& options) {
  return Run("AllToAllV", [&](Communicator& c) { return c.AllToAllV(in, in_counts, out, out_counts, options); });
}

absl::Status ProcessGroup::Send(ConstBuffer in, int to, int tag, const CallOptions& options) {
  return Run("Send", [&](Communicator& c) { return c.Send(in, to, tag, options); });
}

absl::Status ProcessGroup::Recv(Buffer out, int from, int tag, const CallOptions& options, int* source) {
  return Run(
      "Recv", [&](Communicator& c) { return c.Recv(out, from, tag, options); }, source);
}

absl::Status ProcessGroup::Barrier(absl::string_view name) {
  return Run("Barrier", [&](Communicator& c) { return c.Barrier(Named(name)); });
}

absl::Status ProcessGroup::Destroy() {
  ABSL_RETURN_IF_ERROR(CheckAlive("Destroy"));
  const absl::Time deadline = absl::Now() + timeout_;
  CallOptions options = Named("destroy");
  options.timeout = timeout_;
  absl::Status status = communicator_->Barrier(options).Wait();
  if (status.ok() && store_ != nullptr && size() > 1) status = SayGoodbye(std::min(deadline, absl::Now() + kGoodbyeTimeout));
  communicator_.reset();
  return Annotate(status);
}

// When a rank's barrier has ended, another's may still be under way, which a closed connection would fail; and rank 0 takes
// the store away. So: everybody tells that its barrier has ended; rank 0 tells that everybody has told, after which any may
// disconnect; and rank 0 stays until everybody has read that.
absl::Status ProcessGroup::SayGoodbye(absl::Time deadline) {
  if (rank() == 0) {
    ABSL_RETURN_IF_ERROR(WaitForOthers(*store_, size(), GoodbyeOf, deadline));
    ABSL_RETURN_IF_ERROR(store_->Set(kGoodbyeOfAll, ""));
    return WaitForOthers(*store_, size(), DoneAt, deadline);
  }
  ABSL_RETURN_IF_ERROR(store_->Set(GoodbyeOf(rank()), ""));
  ABSL_RETURN_IF_ERROR(store_->Get(kGoodbyeOfAll, deadline - absl::Now()).status());
  // Rank 0 leaves as soon as it has seen this key, perhaps before the answer arrives: an error here harms nobody.
  store_->Set(DoneAt(rank()), "").IgnoreError();
  return absl::OkStatus();
}

absl::Status ProcessGroup::CheckAlive(absl::string_view what) const {
  if (communicator_ != nullptr) return absl::OkStatus();
  return Annotate(absl::FailedPreconditionError(
      absl::StrCat(what, " on a process group after Destroy; call InitProcessGroup for a new one")));
}

absl::Status ProcessGroup::Annotate(const absl::Status& status) const {
  const std::string rank = absl::StrCat("rank ", info_.rank);
  const std::string who = absl::StrCat(rank, " (host ", info_.host, ")");
  // The transport may have said so already, with more.
  if (status.ok() || absl::StrContains(status.message(), who)) return status;
  if (absl::StartsWith(status.message(), absl::StrCat(rank, " (host ", info_.host, ","))) return status;
  absl::string_view what = status.message();
  absl::ConsumePrefix(&what, absl::StrCat(rank, ": "));
  return absl::Status(status.code(), absl::StrCat(who, ": ", what));
}

}  // namespace lockstep
