// One suite that every transport passes: results against float64 references, order, refusals, mismatches, deadlines, lost
// peers, abort, split, arenas. Ranks are processes or threads of one process, or each in turn where the transport allows both.
//
//   INSTANTIATE_TEST_SUITE_P(Gloo, TransportConformance,                                    // the test links the transport in
//                            ::testing::Values(ConformanceCase{"gloo", RanksAs::kProcesses}), ConformanceCaseName);
//
// A transport in another repository depends on //transports/conformance and does the same.
#ifndef LOCKSTEP_TRANSPORTS_CONFORMANCE_CONFORMANCE_H_
#define LOCKSTEP_TRANSPORTS_CONFORMANCE_CONFORMANCE_H_

#include <functional>
#include <memory>
#include <ostream>
#include <string>

#include "gtest/gtest.h"
#include "transports/store/store.h"
#include "transports/transport.h"

namespace lockstep {

enum class RanksAs { kThreads, kProcesses };

struct ConformanceCase {
  std::string transport;  // its registered name
  RanksAs ranks = RanksAs::kThreads;
  int largest_size = 9;  // of the groups that every cell of the table is run on
};

// "gloo_processes": the end of a case's name.
std::string ConformanceCaseName(const ::testing::TestParamInfo<ConformanceCase>& param);
void PrintTo(const ConformanceCase& param, std::ostream* out);

class TransportConformance : public ::testing::TestWithParam<ConformanceCase> {
 protected:
  using Body = std::function<void(std::unique_ptr<Communicator>)>;
  using BodyWithStore = std::function<void(std::unique_ptr<Communicator>, Store&)>;

  void SetUp() override;

  // Runs `body` on `size` connected ranks, and fails if an expectation in one of them does. Ranks may be processes: what they
  // tell each other outside the communicator goes through the store that they met in.
  void RunRanks(int size, const Body& body);
  void RunRanks(int size, const BodyWithStore& body);

  Transport& transport() { return *transport_; }

 private:
  std::unique_ptr<Transport> transport_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_TRANSPORTS_CONFORMANCE_CONFORMANCE_H_
