#include "transports/gloo/gloo_communicator.h"

#include <algorithm>
#include <utility>

#include "absl/status/status_macros.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "transports/gloo/call_gloo.h"
#include "transports/gloo/inquest.h"
#include "transports/host/operation_text.h"
#include "transports/store/prefix_store.h"

namespace lockstep {
namespace {

// Gloo adds timeouts to the clock, which may not overflow.
constexpr absl::Duration kLongestTimeout = absl::Hours(24 * 365);

// How often a slow operation's connections are looked at, and how long it may go on with one broken.
constexpr absl::Duration kWatchPatience = absl::Milliseconds(500);

}  // namespace

absl::StatusOr<std::unique_ptr<Communicator>> GlooCommunicator::Connect(std::shared_ptr<Store> store, GlooDevice device,
                                                                        int rank, int size, absl::Duration timeout) {
  const absl::Time deadline = absl::Now() + std::min(timeout, kLongestTimeout);
  ABSL_ASSIGN_OR_RETURN(std::shared_ptr<GlooMesh> mesh, GlooMesh::Connect(*store, device, rank, size, deadline));
  std::unique_ptr<Communicator> communicator(
      new GlooCommunicator(std::move(store), std::move(device), std::move(mesh), timeout));
  // So that no rank, having connected, closes its connections while others are still connecting.
  CallOptions options;
  options.name = "connect";
  options.timeout = std::max(deadline - absl::Now(), absl::Milliseconds(1));
  ABSL_RETURN_IF_ERROR(communicator->Barrier(options).Wait());
  return communicator;
}

GlooCommunicator::GlooCommunicator(std::shared_ptr<Store> store, GlooDevice device, std::shared_ptr<GlooMesh> mesh,
                                   absl::Duration timeout)
    : HostCommunicator(mesh->rank, mesh->size, timeout),
      store_(std::move(store)),
      device_(std::move(device)),
      mesh_(std::move(mesh)),
      executor_(*mesh_),
      queue_(rank(), *this, "ls-gloo") {}

absl::StatusOr<std::unique_ptr<Communicator>> GlooCommunicator::ConnectMembers(const std::vector<int>& members,
                                                                               int64_t split, int color) {
  const auto own = std::find(members.begin(), members.end(), rank());
  auto store = std::make_shared<PrefixStore>(store_, absl::StrCat("split/", split, ".", color));
  return Connect(std::move(store), device_, static_cast<int>(own - members.begin()), static_cast<int>(members.size()),
                 timeout());
}

absl::Status GlooCommunicator::Execute(const Operation& operation, int& source) {
  const absl::Time start = absl::Now();
  running_since_.store(absl::ToUnixNanos(start));
  const absl::Status raw = CallGloo([&] { executor_.Execute(operation, collectives_, source); });
  running_since_.store(0);
  if (raw.ok()) {
    if (IsCollective(operation.kind)) ++collectives_;
    return raw;
  }
  const bool late = absl::Now() >= operation.deadline;
  const absl::Status own =
      late ? absl::DeadlineExceededError(absl::StrCat("waited ", absl::FormatDuration(absl::Now() - start), " in ",
                                                      DescribeOperation(operation, rank(), size())))
           : raw;
  if (const absl::Status aborted = health(); !aborted.ok()) return aborted;  // GiveUp follows
  const absl::Status recorded = RecordEnd(*store_, *mesh_, own, &operation, collectives_);
  recorded_ = true;
  const absl::Status why = HoldInquest(*store_, *mesh_, own, recorded, operation, collectives_, absl::Now() - start);
  mesh_->CloseAll();
  return why;
}

void GlooCommunicator::Interrupt() { mesh_->CloseAll(); }

// A connection that has ended need not stop the operation in progress: its peer may have done its part. If the operation
// still runs a while later, Gloo has forgotten to wake it (see interruptible_context.h).
void GlooCommunicator::Watch() {
  const int64_t now = absl::ToUnixNanos(absl::Now()), patience = absl::ToInt64Nanoseconds(kWatchPatience);
  const int64_t running = running_since_.load();
  int64_t last = watched_at_.load();
  if (running == 0 || now - running < patience || now - last < patience) return;
  if (!watched_at_.compare_exchange_strong(last, now)) return;  // another waiter looks
  if (mesh_->BrokenPeers().empty()) return;
  if (broken_under_.exchange(running) == running) mesh_->CloseAll();
}

void GlooCommunicator::GiveUp(const absl::Status& why) {
  if (recorded_) return;
  recorded_ = true;
  // The store may be what died; peers then see no record.
  RecordEnd(*store_, *mesh_, why, nullptr, collectives_).IgnoreError();
}

}  // namespace lockstep
