// Connections over the loopback device: deadlines, ends, addresses.
#include "transports/net/socket.h"

#include <sys/resource.h>
#include <sys/socket.h>

#include <string>
#include <thread>
#include <vector>

#include "absl/status/status_matchers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

using ::absl_testing::IsOkAndHolds;
using ::absl_testing::StatusIs;
using ::testing::HasSubstr;

absl::Time InAMinute() { return absl::Now() + absl::Minutes(1); }

// Both ends of a connection.
struct Connection {
  Connection() {
    listener = ListenOn({"127.0.0.1", 0}).value();
    client = ConnectTo({"127.0.0.1", LocalPort(listener.get()).value()}, InAMinute()).value();
    server = FileDescriptor(accept4(listener.get(), nullptr, nullptr, SOCK_NONBLOCK));
  }
  FileDescriptor listener, client, server;
};

TEST(Socket, BytesArriveWholeAlsoWhenTheyAreMoreThanAnyBufferHolds) {
  const Connection connection;
  const std::string sent(64 << 20, 'x');
  std::thread sender([&] { ABSL_EXPECT_OK(SendAll(connection.client.get(), sent, InAMinute())); });
  std::string received(sent.size(), '\0');
  ABSL_EXPECT_OK(ReceiveAll(connection.server.get(), absl::MakeSpan(&received[0], received.size()), InAMinute()));
  sender.join();
  EXPECT_TRUE(received == sent);  // not EXPECT_EQ, which would print them
}

TEST(Socket, APeerThatSendsNothingOrTakesNothingIsADeadline) {
  const Connection connection;
  char byte;
  const absl::Time soon = absl::Now() + absl::Milliseconds(20);
  EXPECT_THAT(ReceiveAll(connection.client.get(), absl::Span<char>(&byte, 1), soon),
              StatusIs(absl::StatusCode::kDeadlineExceeded));
  EXPECT_THAT(SendAll(connection.client.get(), std::string(64 << 20, 'x'), soon),
              StatusIs(absl::StatusCode::kDeadlineExceeded));
}

TEST(Socket, AConnectionThatHasEndedIsUnavailableAndRaisesNoSignal) {
  Connection connection;
  connection.server.Close();
  char byte;
  EXPECT_THAT(ReceiveAll(connection.client.get(), absl::Span<char>(&byte, 1), InAMinute()),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("closed at the other end")));
  // The first write after the end is answered by a reset; some later one fails.
  absl::Status status;
  while (status.ok()) status = SendAll(connection.client.get(), std::string(1 << 20, 'x'), InAMinute());
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kUnavailable, HasSubstr("the connection has ended")));
}

TEST(Socket, RefusedConnectionsFailAtOnceOrAreTriedUntilTheDeadline) {
  const int port = LocalPort(ListenOn({"127.0.0.1", 0}).value().get()).value();  // closed again
  EXPECT_THAT(ConnectTo({"127.0.0.1", port}, InAMinute(), WhenRefused::kFail).status(),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("refused")));
  EXPECT_THAT(ConnectTo({"127.0.0.1", port}, absl::Now() + absl::Milliseconds(200)).status(),
              StatusIs(absl::StatusCode::kDeadlineExceeded, HasSubstr("refused")));
}

TEST(Socket, OutOfFilesIsToldAtOnce) {
  const FileDescriptor listener = ListenOn({"127.0.0.1", 0}).value();
  const int port = LocalPort(listener.get()).value();
  rlimit before;
  getrlimit(RLIMIT_NOFILE, &before);
  const rlimit none = {0, before.rlim_max};
  setrlimit(RLIMIT_NOFILE, &none);
  const absl::Status status = ConnectTo({"127.0.0.1", port}, InAMinute()).status();
  setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("ulimit")));
}

TEST(Socket, AddressesOfThisMachineAreToldFromOthers) {
  EXPECT_THAT(OwnAddressOf("localhost"), IsOkAndHolds(::testing::AnyOf("127.0.0.1", "::1")));
  EXPECT_THAT(OwnAddressOf("127.0.0.1"), IsOkAndHolds("127.0.0.1"));
  EXPECT_THAT(OwnAddressOf("192.0.2.1").status(), StatusIs(absl::StatusCode::kUnavailable, HasSubstr("192.0.2.1")));
  EXPECT_THAT(OwnAddressOf("no-such-host.invalid").status(), StatusIs(absl::StatusCode::kUnavailable));
}

TEST(Socket, TheAddressTowardsThisHostIsTheLoopbackOneWhateverThePort) {
  // Ports that the kernel might pick for our end too.
  for (int port = 32768; port < 33768; ++port) {
    ASSERT_THAT(LocalAddressTowards({"127.0.0.1", port}), IsOkAndHolds("127.0.0.1")) << port;
  }
  EXPECT_THAT(LocalAddressTowards({"no-such-host.invalid", 1}).status(), StatusIs(absl::StatusCode::kUnavailable));
}

TEST(Socket, EndpointsAreShownAsUrlsShowThem) {
  EXPECT_EQ(DescribeEndpoint({"host", 80}), "host:80");
  EXPECT_EQ(DescribeEndpoint({"::1", 80}), "[::1]:80");
}

}  // namespace
}  // namespace lockstep
