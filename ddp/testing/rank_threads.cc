#include "ddp/testing/rank_threads.h"

#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "transports/in_process/in_process_transport.h"
#include "transports/store/in_process_store.h"

namespace lockstep {
namespace {

void RunRank(int rank, int world_size, Transport& transport, std::shared_ptr<Store> store, absl::Duration timeout,
             const std::function<void(std::shared_ptr<ProcessGroup>)>& body) {
  ConnectOptions connect;
  connect.rank = rank;
  connect.size = world_size;
  connect.timeout = timeout;
  absl::StatusOr<std::unique_ptr<Communicator>> communicator = transport.Connect(*store, connect);
  ASSERT_TRUE(communicator.ok()) << communicator.status();
  RankInfo info;
  info.rank = info.local_rank = rank;
  info.world_size = info.local_world_size = world_size;
  info.host = absl::StrCat("host", rank);
  body(std::make_shared<ProcessGroup>(info, std::string(transport.name()), *std::move(communicator), std::move(store)));
}

}  // namespace

void RunRanks(int world_size, const std::function<void(std::shared_ptr<ProcessGroup>)>& body, Transport* transport,
              absl::Duration timeout) {
  InProcessTransport in_process;
  auto store = std::make_shared<InProcessStore>();
  std::vector<std::thread> ranks;
  for (int rank = 0; rank < world_size; ++rank) {
    ranks.emplace_back(
        [&, rank] { RunRank(rank, world_size, transport != nullptr ? *transport : in_process, store, timeout, body); });
  }
  for (std::thread& thread : ranks) thread.join();
}

}  // namespace lockstep
