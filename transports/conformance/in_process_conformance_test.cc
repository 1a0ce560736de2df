#include "gtest/gtest.h"
#include "transports/conformance/conformance.h"

namespace lockstep {
INSTANTIATE_TEST_SUITE_P(InProcess, TransportConformance, ::testing::Values("in_process"));
}  // namespace lockstep
