#include "transports/conformance/conformance.h"

#include <utility>

#include "absl/status/status_matchers.h"
#include "absl/strings/str_cat.h"
#include "transports/registry.h"
#include "transports/testing/rank_processes.h"
#include "transports/testing/rank_threads.h"

namespace lockstep {
namespace {

std::string NameOf(const ConformanceCase& param) {
  return absl::StrCat(param.transport, param.ranks == RanksAs::kThreads ? "_threads" : "_processes");
}

}  // namespace

std::string ConformanceCaseName(const ::testing::TestParamInfo<ConformanceCase>& param) { return NameOf(param.param); }
void PrintTo(const ConformanceCase& param, std::ostream* out) { *out << NameOf(param); }

void TransportConformance::SetUp() { ABSL_ASSERT_OK_AND_ASSIGN(transport_, CreateTransport(GetParam().transport)); }

void TransportConformance::RunRanks(int size, const Body& body) {
  RunRanks(size, [&](std::unique_ptr<Communicator> communicator, Store&) { body(std::move(communicator)); });
}

void TransportConformance::RunRanks(int size, const BodyWithStore& body) {
  if (GetParam().ranks == RanksAs::kThreads) {
    return ConnectRanks(*transport_, size, kTestDeadline,
                        [&](std::unique_ptr<Communicator> communicator, const std::shared_ptr<Store>& store) {
                          body(std::move(communicator), *store);
                        });
  }
  RankProcesses ranks(GetParam().transport, size, kTestDeadline,
                      [&](std::unique_ptr<Communicator> communicator, Store& store, const RankProcesses::Tell&) {
                        body(std::move(communicator), store);
                      });
  for (int rank = 0; rank < size; ++rank) {
    EXPECT_EQ(ranks.WaitForEnd(rank), "") << "rank " << rank << ", whose failures stand above";
  }
}

}  // namespace lockstep
