// The store over real sockets: what every store promises, and what strangers, dead servers and full tables do to it.
#include "transports/store/tcp_store.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status_macros.h"
#include "absl/status/status_matchers.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "transports/net/socket.h"
#include "transports/store/frame.h"
#include "transports/store/tcp_store_server.h"
#include "transports/testing/child_process.h"

namespace lockstep {
namespace {

using ::absl_testing::IsOkAndHolds;
using ::absl_testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr absl::Duration kLong = absl::Seconds(60);

class TcpStoreTest : public ::testing::Test {
 protected:
  void SetUp() override {
    absl::StatusOr<std::unique_ptr<TcpStoreServer>> server = TcpStoreServer::Start({"127.0.0.1", 0});
    ABSL_ASSERT_OK(server);
    server_ = *std::move(server);
  }

  std::unique_ptr<TcpStore> NewClient() {
    absl::StatusOr<std::unique_ptr<TcpStore>> store = TcpStore::Connect({"127.0.0.1", server_->port()}, kLong);
    ABSL_EXPECT_OK(store);
    return *std::move(store);
  }

  FileDescriptor NewStranger() { return *ConnectTo({"127.0.0.1", server_->port()}, absl::Now() + kLong); }

  std::unique_ptr<TcpStoreServer> server_;
};

// Whether the server has ended the connection: a byte would be an answer.
absl::Status WaitForEnd(const FileDescriptor& socket) {
  char byte;
  return ReceiveAll(socket.get(), absl::Span<char>(&byte, 1), absl::Now() + kLong);
}

// A server in a process of its own.
class ChildServer {
 public:
  explicit ChildServer(rlim_t max_files = 256)
      : child_([max_files](const ChildProcess::Tell& tell) {
          const rlimit files = {max_files, max_files};
          setrlimit(RLIMIT_NOFILE, &files);
          const auto server = TcpStoreServer::Start({"127.0.0.1", 0});
          tell(server.ok() ? absl::StrCat((*server)->port()) : server.status().ToString());
          pause();
        }) {
    const std::string told = child_.NextLine();
    EXPECT_TRUE(absl::SimpleAtoi(told, &port_)) << told;
  }
  int port() const { return port_; }
  void Kill() const { child_.Signal(SIGKILL); }

 private:
  ChildProcess child_;
  int port_ = 0;
};

TEST_F(TcpStoreTest, WhatOneClientSetsAnotherGetsByteForByte) {
  const auto a = NewClient(), b = NewClient();
  const std::string value("a\0b\xff", 4);
  ABSL_ASSERT_OK(a->Set("key", value));
  EXPECT_THAT(b->Get("key", absl::Seconds(5)), IsOkAndHolds(value));
  ABSL_ASSERT_OK(b->Set("key", ""));
  EXPECT_THAT(a->Get("key", absl::Seconds(5)), IsOkAndHolds(""));
  EXPECT_THAT(a->Contains("key"), IsOkAndHolds(true));
  EXPECT_THAT(a->Delete("key"), IsOkAndHolds(true));
  EXPECT_THAT(b->Delete("key"), IsOkAndHolds(false));
  EXPECT_THAT(b->Contains("key"), IsOkAndHolds(false));
}

TEST_F(TcpStoreTest, AddIsAtomicOverClientsAndRefusesWhatIsNoNumber) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      const auto store = NewClient();
      for (int i = 0; i < 50; ++i) ABSL_EXPECT_OK(store->Add("count", 2));
    });
  }
  for (std::thread& thread : threads) thread.join();
  const auto store = NewClient();
  EXPECT_THAT(store->Add("count", -1), IsOkAndHolds(399));
  ABSL_ASSERT_OK(store->Set("text", "abc"));
  EXPECT_THAT(store->Add("text", 1), StatusIs(absl::StatusCode::kInvalidArgument,
                                              AllOf(HasSubstr("tcp store at 127.0.0.1:"), HasSubstr("\"text\""))));
  EXPECT_THAT(store->Get("text", kLong), IsOkAndHolds("abc"));
}

TEST_F(TcpStoreTest, AGetWaitsForItsKeyWhileOtherCallsOfTheSameClientGoOn) {
  const auto store = NewClient();
  std::vector<std::thread> waiters;
  for (int i = 0; i < 3; ++i) {
    waiters.emplace_back([&] {
      ABSL_EXPECT_OK(store->Add("waiting", 1));
      EXPECT_THAT(store->Get("late", kLong), IsOkAndHolds("came"));
    });
  }
  while (store->Add("waiting", 0).value() < 3) {
  }
  ABSL_EXPECT_OK(store->Set("late", "came"));
  for (std::thread& waiter : waiters) waiter.join();
}

TEST_F(TcpStoreTest, AKeyThatAddMakesWakesItsWaiters) {
  const auto store = NewClient();
  std::thread waiter([&] { EXPECT_THAT(NewClient()->Get("count", kLong), IsOkAndHolds("5")); });
  EXPECT_THAT(store->Add("count", 5), IsOkAndHolds(5));
  waiter.join();
}

TEST_F(TcpStoreTest, AGetWhoseKeyNeverComesNamesKeyAndStoreAndTheNextCallIsAnswered) {
  const auto store = NewClient();
  EXPECT_THAT(store->Get("absent", absl::Milliseconds(5)),
              StatusIs(absl::StatusCode::kDeadlineExceeded, AllOf(HasSubstr("\"absent\""), HasSubstr("127.0.0.1:"))));
  ABSL_ASSERT_OK(store->Set("absent", "late"));
  EXPECT_THAT(store->Get("absent", kLong), IsOkAndHolds("late"));
}

TEST_F(TcpStoreTest, ValuesAtTheLimitPassAndOneByteMoreDoesNot) {
  const auto store = NewClient();
  const std::string key(kMaxStoreKeyBytes, 'k');
  const std::string value(kMaxStoreValueBytes, 'v');
  ABSL_ASSERT_OK(store->Set(key, value));
  const absl::StatusOr<std::string> back = store->Get(key, kLong);
  ABSL_ASSERT_OK(back);
  EXPECT_TRUE(*back == value);  // not EXPECT_EQ, which would print 64 MiB
  EXPECT_THAT(store->Set(key, value + "v"), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("67108865 bytes")));
  EXPECT_THAT(store->Get(key + "k", kLong), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("1025 bytes")));
}

TEST_F(TcpStoreTest, GarbageEndsThatConnectionAndNoOther) {
  const auto store = NewClient();
  std::string unparsable = EncodeFrame("\xff\xff\xff");
  std::string too_long = EncodeFrame("x");
  too_long[7] = '\x7f';
  for (const std::string& bytes : {std::string("GET / HTTP/1.1\r\n\r\n"), too_long, unparsable, EncodeFrame("")}) {
    const FileDescriptor stranger = NewStranger();
    ABSL_ASSERT_OK(SendAll(stranger.get(), bytes, absl::Now() + kLong));
    EXPECT_THAT(WaitForEnd(stranger), StatusIs(absl::StatusCode::kUnavailable));
    ABSL_EXPECT_OK(store->Set("key", ""));
  }
}

TEST_F(TcpStoreTest, WhoSendsHalfAFrameOrLeavesWhileWaitingHarmsNobody) {
  const auto store = NewClient();
  const FileDescriptor slow = NewStranger();
  ABSL_ASSERT_OK(SendAll(slow.get(), EncodeFrame(std::string(100, 'x')).substr(0, 50), absl::Now() + kLong));
  EXPECT_THAT(store->Get("key", absl::Milliseconds(5)), StatusIs(absl::StatusCode::kDeadlineExceeded));  // leaves waiting
  ABSL_EXPECT_OK(store->Set("key", "v"));
  EXPECT_THAT(store->Get("key", kLong), IsOkAndHolds("v"));
}

TEST_F(TcpStoreTest, AServerThatEndsEndsWaitsAtOnceAndEveryLaterCall) {
  const auto store = NewClient();
  std::thread waiter([&] {
    ABSL_EXPECT_OK(store->Set("waiting", ""));
    EXPECT_THAT(store->Get("never", kLong), StatusIs(absl::StatusCode::kUnavailable, HasSubstr("rank 0")));
  });
  ABSL_EXPECT_OK(NewClient()->Get("waiting", kLong));
  server_.reset();
  waiter.join();
  EXPECT_THAT(store->Set("key", ""), StatusIs(absl::StatusCode::kUnavailable, HasSubstr("gone")));
  EXPECT_THAT(store->Contains("key"), StatusIs(absl::StatusCode::kUnavailable));
}

TEST(TcpStore, AServerKilledWithItsProcessIsNoticed) {
  const ChildServer server;
  ABSL_ASSERT_OK_AND_ASSIGN(const auto store, TcpStore::Connect({"127.0.0.1", server.port()}, kLong));
  ABSL_EXPECT_OK(store->Set("key", ""));
  server.Kill();
  EXPECT_THAT(store->Get("never", kLong), StatusIs(absl::StatusCode::kUnavailable));
}

TEST(TcpStore, AServerThatIsGoneIsToldAtOnceAlsoByAClientWithoutAnIdleConnection) {
  ABSL_ASSERT_OK_AND_ASSIGN(auto server, TcpStoreServer::Start({"127.0.0.1", 0}));
  ABSL_ASSERT_OK_AND_ASSIGN(const auto store, TcpStore::Connect({"127.0.0.1", server->port()}, kLong));
  EXPECT_THAT(store->Get("absent", absl::Milliseconds(1)), StatusIs(absl::StatusCode::kDeadlineExceeded));
  server.reset();
  EXPECT_THAT(store->Set("key", ""), StatusIs(absl::StatusCode::kUnavailable, HasSubstr("gone")));
}

TEST(TcpStore, AClientThatComesBeforeTheServerWaitsForIt) {
  ABSL_ASSERT_OK_AND_ASSIGN(auto first, TcpStoreServer::Start({"localhost", 0}));
  const int port = first->port();
  first.reset();
  std::thread client([port] {
    const auto store = TcpStore::Connect({"localhost", port}, kLong);
    ABSL_ASSERT_OK(store);
    ABSL_EXPECT_OK((*store)->Set("key", ""));
    EXPECT_THAT((*store)->Get("done", kLong), IsOkAndHolds(""));
  });
  ABSL_ASSERT_OK_AND_ASSIGN(const auto server, TcpStoreServer::Start({"localhost", port}));
  ABSL_ASSERT_OK_AND_ASSIGN(const auto store, TcpStore::Connect({"localhost", port}, kLong));
  ABSL_EXPECT_OK(store->Get("key", kLong));
  ABSL_EXPECT_OK(store->Set("done", ""));
  client.join();
}

TEST(TcpStore, BadPlacesAreNamed) {
  EXPECT_THAT(TcpStore::Connect({"no-such-host.invalid", 1}, kLong).status(),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("no-such-host.invalid")));
  ABSL_ASSERT_OK_AND_ASSIGN(const auto server, TcpStoreServer::Start({"127.0.0.1", 0}));
  EXPECT_THAT(TcpStoreServer::Start({"127.0.0.1", server->port()}).status(),
              StatusIs(absl::StatusCode::kUnavailable, AllOf(HasSubstr(absl::StrCat(server->port())), HasSubstr("port"))));
  ABSL_ASSERT_OK_AND_ASSIGN(const FileDescriptor silent, ListenOn({"127.0.0.1", 0}));
  ABSL_ASSERT_OK_AND_ASSIGN(const int port, LocalPort(silent.get()));
  ABSL_ASSERT_OK_AND_ASSIGN(const auto store, TcpStore::Connect({"127.0.0.1", port}, absl::Milliseconds(50)));
  EXPECT_THAT(store->Set("key", ""), StatusIs(absl::StatusCode::kDeadlineExceeded, HasSubstr("did not answer")));
}

TEST(TcpStore, NobodyListeningIsADeadlineWithTheReason) {
  ABSL_ASSERT_OK_AND_ASSIGN(auto server, TcpStoreServer::Start({"127.0.0.1", 0}));
  const int port = server->port();
  server.reset();
  EXPECT_THAT(TcpStore::Connect({"127.0.0.1", port}, absl::Milliseconds(200)).status(),
              StatusIs(absl::StatusCode::kDeadlineExceeded, AllOf(HasSubstr("refused"), HasSubstr(absl::StrCat(port)))));
}

TEST(TcpStore, AnAnswerFromAStrangerIsNoAnswer) {
  ABSL_ASSERT_OK_AND_ASSIGN(const FileDescriptor listener, ListenOn({"127.0.0.1", 0}));
  ABSL_ASSERT_OK_AND_ASSIGN(const int port, LocalPort(listener.get()));
  ABSL_ASSERT_OK_AND_ASSIGN(const auto store, TcpStore::Connect({"127.0.0.1", port}, kLong));
  const FileDescriptor stranger(accept(listener.get(), nullptr, nullptr));
  ABSL_ASSERT_OK(SendAll(stranger.get(), "HTTP/1.1 400 Bad Request\r\n", absl::Now() + kLong));
  EXPECT_THAT(store->Set("key", ""), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("HTTP/1.1")));
}

TEST(TcpStore, IPv6Works) {
  const auto server = TcpStoreServer::Start({"::1", 0});
  if (!server.ok()) GTEST_SKIP() << "needs IPv6 on the loopback device: " << server.status();
  ABSL_ASSERT_OK_AND_ASSIGN(const auto store, TcpStore::Connect({"::1", (*server)->port()}, kLong));
  ABSL_EXPECT_OK(store->Set("key", ""));
  EXPECT_THAT(store->Describe(), HasSubstr("[::1]:"));
}

TEST(TcpStore, OutOfFilesTheServerLetsNewcomersWaitAndServesThemLater) {
  const ChildServer server(/*max_files=*/24);
  {
    std::vector<FileDescriptor> crowd;
    for (int i = 0; i < 40; ++i) crowd.push_back(*ConnectTo({"127.0.0.1", server.port()}, absl::Now() + kLong));
  }
  ABSL_ASSERT_OK_AND_ASSIGN(const auto store, TcpStore::Connect({"127.0.0.1", server.port()}, kLong));
  ABSL_EXPECT_OK(store->Set("key", ""));
}

}  // namespace
}  // namespace lockstep
