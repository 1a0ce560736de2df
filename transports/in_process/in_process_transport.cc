#include "transports/in_process/in_process_transport.h"

#include <unistd.h>

#include <atomic>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status_macros.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "transports/host/host_communicator.h"
#include "transports/in_process/hub.h"
#include "transports/registry.h"

namespace lockstep {
namespace {

absl::StatusOr<std::unique_ptr<Communicator>> JoinHub(const std::string& key, int rank, int size, absl::Duration timeout);

class InProcessCommunicator final : public HostCommunicator {
 public:
  InProcessCommunicator(std::string key, std::shared_ptr<Hub> hub, int rank, absl::Duration timeout)
      : HostCommunicator(rank, hub->size(), timeout), key_(std::move(key)), hub_(std::move(hub)) {}
  ~InProcessCommunicator() override { hub_->Leave(rank()); }

  void Progress() override {}
  absl::Status health() const override { return hub_->health(rank()); }

 protected:
  void Start(absl::Span<const Operation> operations) override { hub_->Start(rank(), operations); }
  void Fail(const absl::Status& why) override { hub_->Fail(rank(), why); }
  absl::Status WaitForStarted(int64_t sequence) override { return hub_->Wait(rank(), sequence); }
  bool IsStartedDone(int64_t sequence) const override { return hub_->Done(rank(), sequence); }
  int SourceOfStarted(int64_t sequence) const override { return hub_->Source(rank(), sequence); }

  absl::StatusOr<std::unique_ptr<Communicator>> ConnectMembers(const std::vector<int>& members, int64_t split,
                                                               int color) override {
    int own = 0;
    while (members[own] != rank()) ++own;
    return JoinHub(absl::StrCat(key_, "/", split, ".", color), own, static_cast<int>(members.size()), timeout());
  }

 private:
  const std::string key_;
  const std::shared_ptr<Hub> hub_;
};

absl::StatusOr<std::unique_ptr<Communicator>> JoinHub(const std::string& key, int rank, int size, absl::Duration timeout) {
  const absl::Time deadline = absl::Now() + timeout;
  const std::shared_ptr<Hub> hub = FindOrMakeHub(key, size);
  if (hub->size() != size) {
    return absl::FailedPreconditionError(
        absl::StrCat("in_process: rank ", rank, " connects as one of ", size, ", others as one of ", hub->size()));
  }
  ABSL_RETURN_IF_ERROR(hub->Join(rank));
  ABSL_RETURN_IF_ERROR(hub->WaitForAll(rank, deadline));
  return std::make_unique<InProcessCommunicator>(key, hub, rank, timeout);
}

// Rank 0 publishes a number of its process' own, so that one store used twice never mixes two meetings.
absl::StatusOr<std::string> MeetingKey(Store& store, const ConnectOptions& options) {
  static std::atomic<int64_t> next{0};
  const std::string process = absl::StrCat(getpid());
  if (options.rank == 0) {
    ABSL_RETURN_IF_ERROR(store.Set("in_process", absl::StrCat(process, " ", next.fetch_add(1))));
  }
  ABSL_ASSIGN_OR_RETURN(const std::string meeting, store.Get("in_process", options.timeout));
  const std::vector<std::string> words = absl::StrSplit(meeting, ' ');
  if (words[0] == process) return meeting;
  return absl::FailedPreconditionError(absl::StrCat("in_process: rank 0 is in process ", words[0], ", rank ", options.rank,
                                                    " in process ", process,
                                                    "; this transport joins threads of one process. Use gloo"));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Communicator>> InProcessTransport::Connect(Store& store, const ConnectOptions& options) {
  if (options.size < 1 || options.rank < 0 || options.rank >= options.size) {
    return absl::InvalidArgumentError(absl::StrCat("in_process: rank ", options.rank, " of ", options.size,
                                                   "; expected a size of at least 1 and a rank from 0 to size - 1"));
  }
  ABSL_ASSIGN_OR_RETURN(const std::string key, MeetingKey(store, options));
  return JoinHub(key, options.rank, options.size, options.timeout);
}

LOCKSTEP_REGISTER_TRANSPORT("in_process", InProcessTransport);

}  // namespace lockstep
