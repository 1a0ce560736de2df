#include "transports/conformance/conformance.h"

#include <utility>

#include "absl/status/status_matchers.h"
#include "transports/registry.h"

namespace lockstep {

void TransportConformance::SetUp() {
  absl::StatusOr<std::unique_ptr<Transport>> transport = CreateTransport(GetParam());
  ABSL_ASSERT_OK(transport);
  transport_ = *std::move(transport);
}

void TransportConformance::RunRanks(int size, const std::function<void(std::unique_ptr<Communicator>)>& body,
                                    absl::Duration timeout) {
  ConnectRanks(*transport_, size, timeout,
               [&](std::unique_ptr<Communicator> communicator, std::shared_ptr<Store>) { body(std::move(communicator)); });
}

}  // namespace lockstep
