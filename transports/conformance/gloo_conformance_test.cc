#include "gtest/gtest.h"
#include "transports/conformance/conformance.h"

namespace lockstep {
INSTANTIATE_TEST_SUITE_P(Gloo, TransportConformance,
                         ::testing::Values(ConformanceCase{"gloo", RanksAs::kProcesses},
                                           ConformanceCase{"gloo", RanksAs::kThreads, 3}),
                         ConformanceCaseName);
}  // namespace lockstep
