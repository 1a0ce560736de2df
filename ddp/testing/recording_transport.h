// A transport that tells a test of every operation as it starts, and leaves the work to another one.
//
//   RecordingTransport recording(in_process, [&](const StartedOperation& op) { log.Add(op.name); });
//   RunRanks(2, body, &recording);
//
// Communicators split from one that records do so too.
#ifndef LOCKSTEP_DDP_TESTING_RECORDING_TRANSPORT_H_
#define LOCKSTEP_DDP_TESTING_RECORDING_TRANSPORT_H_

#include <cstdint>
#include <functional>
#include <memory>

#include "absl/strings/string_view.h"
#include "transports/transport.h"

namespace lockstep {

struct StartedOperation {
  int rank = 0;
  absl::string_view kind;  // "all_reduce", "broadcast", ...
  absl::string_view name;  // as its caller named it; valid during the call
  int64_t count = 0;
};

class RecordingTransport final : public Transport {
 public:
  // Called after each operation has started, by the thread that started it: several at once, one a rank.
  using Observer = std::function<void(const StartedOperation&)>;

  // `inner` outlives this and its communicators.
  RecordingTransport(Transport& inner, Observer observer) : inner_(inner), observer_(std::move(observer)) {}

  absl::string_view name() const override { return "recording"; }
  absl::StatusOr<std::unique_ptr<Communicator>> Connect(Store& store, const ConnectOptions& options) override;

 private:
  Transport& inner_;
  const Observer observer_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_DDP_TESTING_RECORDING_TRANSPORT_H_
