#include "transports/testing/rank_processes.h"

#include <unistd.h>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "transports/registry.h"
#include "transports/store/tcp_store.h"
#include "transports/store/tcp_store_server.h"

namespace lockstep {
namespace {

// Tells the port.
void ServeStore(const ChildProcess::Tell& tell) {
  const auto server = TcpStoreServer::Start({"127.0.0.1", 0});
  if (!server.ok()) return tell(server.status().ToString());
  tell(absl::StrCat((*server)->port()));
  while (true) pause();
}

}  // namespace

RankProcesses::RankProcesses(absl::string_view transport, int size, absl::Duration timeout,
                             const std::function<void(Communicator&, const Tell&)>& body)
    : store_(ServeStore) {
  const std::string told = store_.NextLine();
  int port = 0;
  EXPECT_TRUE(absl::SimpleAtoi(told, &port)) << told;
  for (int rank = 0; rank < size; ++rank) {
    ranks_.push_back(std::make_unique<ChildProcess>([&](const Tell& tell) {
      const auto store = TcpStore::Connect({"127.0.0.1", port}, timeout);
      if (!store.ok()) return tell(store.status().ToString());
      const auto chosen = CreateTransport(transport);
      if (!chosen.ok()) return tell(chosen.status().ToString());
      ConnectOptions options;
      options.rank = rank;
      options.size = size;
      options.timeout = timeout;
      options.host = "127.0.0.1";
      const auto communicator = (*chosen)->Connect(**store, options);
      if (!communicator.ok()) return tell(communicator.status().ToString());
      body(**communicator, tell);
    }));
  }
}

}  // namespace lockstep
