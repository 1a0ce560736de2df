#include "gtest/gtest.h"
#include "transports/conformance/conformance.h"

namespace lockstep {
INSTANTIATE_TEST_SUITE_P(InProcess, TransportConformance,
                         ::testing::Values(ConformanceCase{"in_process", RanksAs::kThreads}), ConformanceCaseName);
}  // namespace lockstep
