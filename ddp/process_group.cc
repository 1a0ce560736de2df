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

absl::Status ProcessGroup::AllReduce(Buffer inout, ReduceOp op, const CallOptions& options) {
  ABSL_RETURN_IF_ERROR(CheckAlive("AllReduce"));
  return Finish(communicator_->AllReduce(inout, inout, op, options));
}

absl::Status ProcessGroup::Broadcast(Buffer inout, int root, const CallOptions& options) {
  ABSL_RETURN_IF_ERROR(CheckAlive("Broadcast"));
  return Finish(communicator_->Broadcast(inout, root, options));
}

absl::Status ProcessGroup::AllGather(ConstBuffer in, Buffer out, const CallOptions& options) {
  ABSL_RETURN_IF_ERROR(CheckAlive("AllGather"));
  return Finish(communicator_->AllGather(in, out, options));
}

absl::Status ProcessGroup::Barrier(absl::string_view name) {
  ABSL_RETURN_IF_ERROR(CheckAlive("Barrier"));
  return Finish(communicator_->Barrier(Named(name)));
}

absl::Status ProcessGroup::Send(ConstBuffer in, int to, int tag, const CallOptions& options) {
  ABSL_RETURN_IF_ERROR(CheckAlive("Send"));
  return Finish(communicator_->Send(in, to, tag, options));
}

absl::Status ProcessGroup::Recv(Buffer out, int from, int tag, const CallOptions& options) {
  ABSL_RETURN_IF_ERROR(CheckAlive("Recv"));
  return Finish(communicator_->Recv(out, from, tag, options));
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

absl::Status ProcessGroup::Finish(Work work) { return Annotate(work.Wait()); }

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
