#include "transports/testing/rank_processes.h"

#include <unistd.h>

#include <utility>

#include "absl/status/status_matchers.h"
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

RankProcesses::RankProcesses(absl::string_view transport, int size, absl::Duration timeout, const Body& body)
    : store_(ServeStore) {
  const std::string told = store_.NextLine();
  int port = 0;
  EXPECT_TRUE(absl::SimpleAtoi(told, &port)) << told;
  for (int rank = 0; rank < size; ++rank) {
    ranks_.push_back(std::make_unique<ChildProcess>([&](const Tell& tell) {
      ABSL_ASSERT_OK_AND_ASSIGN(const auto store, TcpStore::Connect({"127.0.0.1", port}, timeout));
      ABSL_ASSERT_OK_AND_ASSIGN(const auto chosen, CreateTransport(transport));
      ConnectOptions options;
      options.rank = rank;
      options.size = size;
      options.timeout = timeout;
      options.host = "127.0.0.1";
      ABSL_ASSERT_OK_AND_ASSIGN(auto communicator, chosen->Connect(*store, options));
      body(std::move(communicator), *store, tell);
    }));
  }
}

}  // namespace lockstep
