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
      stall_check_(*store_, rank(), size()),
      executor_(*mesh_, stall_check_),
      queue_(rank(), *this, "ls-gloo"),
      watched_([this] { Look(); }) {}

absl::StatusOr<std::unique_ptr<Communicator>> GlooCommunicator::ConnectMembers(const std::vector<int>& members,
                                                                               int64_t split, int color) {
  const auto own = std::find(members.begin(), members.end(), rank());
  auto store = std::make_shared<PrefixStore>(store_, absl::StrCat("split/", split, ".", color));
  return Connect(std::move(store), device_, static_cast<int>(own - members.begin()), static_cast<int>(members.size()),
                 timeout());
}

absl::Status GlooCommunicator::Execute(absl::Span<const Operation* const> operations, absl::Span<int> sources) {
  const absl::Time start = absl::Now();
  Position position{0, collectives_};
  running_.store(operations[0]->sequence + 1);
  const absl::Status raw = CallGloo([&] { executor_.Execute(operations, position, sources); });
  running_.store(0);
  collectives_ = position.collective;
  if (raw.ok()) return raw;
  const Operation& operation = *operations[position.at];
  const bool late = absl::Now() >= operation.deadline;
  const absl::Status own =
      late ? absl::DeadlineExceededError(absl::StrCat("waited ", absl::FormatDuration(absl::Now() - start), " in ",
                                                      DescribeOperation(operation, rank(), size())))
           : raw;
  if (const absl::Status aborted = health(); !aborted.ok()) {
    // So that peers can tell what differs. Else GiveUp follows.
    if (is_mismatch_.load()) Record(aborted, &operation).IgnoreError();
    return aborted;
  }
  const absl::Status recorded = Record(own, &operation);
  const absl::Status why = HoldInquest(*store_, *mesh_, own, recorded, operation, collectives_, absl::Now() - start);
  mesh_->CloseAll();
  return why;
}

void GlooCommunicator::Interrupt() { mesh_->CloseAll(); }

void GlooCommunicator::Look() {
  LookForBrokenConnections();
  LookForStall();
}

// A connection that has ended need not stop the operation in progress: its peer may have done its part. But if nothing moves
// any more, the operation waits for it, or for a transfer that Gloo has forgotten to end (see interruptible_context.h).
void GlooCommunicator::LookForBrokenConnections() {
  const int64_t running = running_.load();
  if (running == 0 || mesh_->BrokenPeers().empty()) {
    broken_under_ = 0;
    return;
  }
  const int64_t moved = mesh_->BytesMoved();
  if (std::exchange(broken_under_, running) == running && moved == moved_) mesh_->CloseAll();
  moved_ = moved;
}

void GlooCommunicator::LookForStall() {
  const absl::Status why = stall_check_.Check();
  if (why.ok()) return;
  is_mismatch_.store(true);
  queue_.Abort(absl::Status(why.code(), absl::StrCat(mesh_->DescribeRank(rank()), ": ", why.message())));
}

void GlooCommunicator::GiveUp(const absl::Status& why) {
  if (!recorded_) Record(why, nullptr).IgnoreError();  // the store may be what died; peers then see no record
}

absl::Status GlooCommunicator::Record(const absl::Status& why, const Operation* operation) {
  recorded_ = true;
  return RecordEnd(*store_, *mesh_, why, operation, collectives_);
}

}  // namespace lockstep
