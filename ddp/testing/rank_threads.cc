#include "ddp/testing/rank_threads.h"

#include <string>
#include <utility>

#include "absl/status/status_matchers.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "transports/registry.h"

namespace lockstep {

void RunRanks(int world_size, const std::function<void(std::shared_ptr<ProcessGroup>)>& body, Transport* transport,
              absl::Duration timeout) {
  ABSL_ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Transport> in_process, CreateTransport("in_process"));
  Transport& used = transport != nullptr ? *transport : *in_process;
  ConnectRanks(used, world_size, timeout, [&](std::unique_ptr<Communicator> communicator, std::shared_ptr<Store> store) {
    RankInfo info;
    info.rank = info.local_rank = communicator->rank();
    info.world_size = info.local_world_size = world_size;
    info.host = absl::StrCat("host", info.rank);
    body(std::make_shared<ProcessGroup>(info, std::string(used.name()), std::move(communicator), std::move(store)));
  });
}

}  // namespace lockstep
