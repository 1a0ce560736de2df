// One suite that every transport passes: results against float64 references, order, refusals, mismatches, deadlines, lost
// peers, abort, split, arenas. Ranks are threads of the test's process, which meet through sockets where the transport does.
//
//   INSTANTIATE_TEST_SUITE_P(Gloo, TransportConformance, ::testing::Values("gloo"));     // links the transport in
//
// A transport in another repository depends on //transports/conformance and does the same.
#ifndef LOCKSTEP_TRANSPORTS_CONFORMANCE_CONFORMANCE_H_
#define LOCKSTEP_TRANSPORTS_CONFORMANCE_CONFORMANCE_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "transports/testing/rank_threads.h"
#include "transports/transport.h"

namespace lockstep {

// The parameter is the name of a registered transport.
class TransportConformance : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override;

  // Runs `body` on `size` connected ranks; `timeout` is that of operations which name none.
  void RunRanks(int size, const std::function<void(std::unique_ptr<Communicator>)>& body,
                absl::Duration timeout = kTestDeadline);

  Transport& transport() { return *transport_; }

 private:
  std::unique_ptr<Transport> transport_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_TRANSPORTS_CONFORMANCE_CONFORMANCE_H_
