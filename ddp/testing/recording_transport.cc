#include "ddp/testing/recording_transport.h"

#include <utility>

#include "absl/status/status_macros.h"
#include "transports/testing/forwarding_communicator.h"

namespace lockstep {
namespace {

class RecordingCommunicator final : public ForwardingCommunicator {
 public:
  RecordingCommunicator(std::unique_ptr<Communicator> inner, RecordingTransport::Observer observer)
      : ForwardingCommunicator(std::move(inner)), observer_(std::move(observer)) {}

 private:
  void BeforeStart(Operation& operation) override {
    observer_({rank(), OperationKindName(operation.kind), operation.Name(), operation.out.count});
  }
  std::unique_ptr<Communicator> Wrap(std::unique_ptr<Communicator> inner) override {
    return std::make_unique<RecordingCommunicator>(std::move(inner), observer_);
  }

  const RecordingTransport::Observer observer_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Communicator>> RecordingTransport::Connect(Store& store, const ConnectOptions& options) {
  ABSL_ASSIGN_OR_RETURN(std::unique_ptr<Communicator> communicator, inner_.Connect(store, options));
  return std::unique_ptr<Communicator>(std::make_unique<RecordingCommunicator>(std::move(communicator), observer_));
}

}  // namespace lockstep
