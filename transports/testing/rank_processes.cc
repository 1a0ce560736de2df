#include "transports/testing/rank_processes.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gtest/gtest.h"
#include "transports/registry.h"
#include "transports/store/tcp_store.h"
#include "transports/store/tcp_store_server.h"

namespace lockstep {
namespace {

void WriteLine(int pipe, absl::string_view text) {
  const std::string line = absl::StrCat(absl::StrReplaceAll(text, {{"\n", " "}}), "\n");
  if (write(pipe, line.data(), line.size()) != static_cast<ssize_t>(line.size())) _exit(1);
}

void ServeStore(int pipe) {
  const auto server = TcpStoreServer::Start({"127.0.0.1", 0});
  if (!server.ok()) return WriteLine(pipe, server.status().ToString());
  WriteLine(pipe, absl::StrCat((*server)->port()));
  while (true) pause();
}

}  // namespace

RankProcesses::RankProcesses(absl::string_view transport, int size, absl::Duration timeout,
                             const std::function<void(Communicator&, const Tell&)>& body) {
  store_ = Fork(ServeStore);
  char text[256] = {};
  int port = 0;
  const bool served = std::fgets(text, sizeof(text), store_.lines) != nullptr && absl::SimpleAtoi(text, &port);
  EXPECT_TRUE(served) << text;
  for (int rank = 0; rank < size; ++rank) {
    ranks_.push_back(Fork([&](int pipe) {
      const Tell tell = [pipe](absl::string_view line) { WriteLine(pipe, line); };
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

RankProcesses::~RankProcesses() {
  for (Process& rank : ranks_) End(rank);
  End(store_);
}

RankProcesses::Process RankProcesses::Fork(const std::function<void(int pipe)>& body) {
  int ends[2] = {-1, -1};
  EXPECT_EQ(pipe(ends), 0);
  Process process;
  process.pid = fork();
  if (process.pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);  // should the test itself be killed
    close(ends[0]);
    body(ends[1]);
    _exit(::testing::Test::HasFailure() ? 1 : 0);
  }
  close(ends[1]);
  process.lines = fdopen(ends[0], "r");
  return process;
}

void RankProcesses::End(Process& process) {
  kill(process.pid, SIGKILL);
  waitpid(process.pid, nullptr, 0);
  std::fclose(process.lines);
}

std::string RankProcesses::NextLine(int rank) {
  char* text = nullptr;
  size_t capacity = 0;
  const ssize_t length = getline(&text, &capacity, ranks_[static_cast<size_t>(rank)].lines);
  std::string line(text, length > 0 ? static_cast<size_t>(length - 1) : 0);
  std::free(text);
  return line;
}

void RankProcesses::Signal(int rank, int signal) { kill(pid(rank), signal); }

void RankProcesses::SignalStore(int signal) { kill(store_.pid, signal); }

}  // namespace lockstep
