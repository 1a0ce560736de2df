#include "transports/testing/rank_threads.h"

#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status_matchers.h"
#include "gtest/gtest.h"
#include "transports/store/in_process_store.h"

namespace lockstep {

void ConnectRanks(Transport& transport, int size, absl::Duration timeout,
                  const std::function<void(std::unique_ptr<Communicator>, std::shared_ptr<Store>)>& body) {
  auto store = std::make_shared<InProcessStore>();
  std::vector<std::thread> ranks;
  for (int rank = 0; rank < size; ++rank) {
    ranks.emplace_back([&, rank] {
      ConnectOptions options;
      options.rank = rank;
      options.size = size;
      options.timeout = timeout;
      options.host = "127.0.0.1";
      ABSL_ASSERT_OK_AND_ASSIGN(std::unique_ptr<Communicator> communicator, transport.Connect(*store, options));
      body(std::move(communicator), store);
    });
  }
  for (std::thread& rank : ranks) rank.join();  // ends: every wait of a communicator has a deadline
}

}  // namespace lockstep
