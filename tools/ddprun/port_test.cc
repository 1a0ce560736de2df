// MASTER_PORT: rank 0 can listen on it, nobody else is given it, and launches at one instant never share it.
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tools/ddprun/launch.h"
#include "tools/ddprun/pipe.h"

namespace lockstep::ddprun {
namespace {

constexpr int kLocalPortRange = 51;  // IP_LOCAL_PORT_RANGE, of Linux 6.3

sockaddr_in Loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(port));
  return address;
}

FileDescriptor Socket(bool reuses_address) {
  FileDescriptor made(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int reuse = reuses_address ? 1 : 0;
  EXPECT_EQ(setsockopt(made.get(), SOL_SOCKET, SO_REUSEADDR, &reuse, sizeof(reuse)), 0);
  return made;
}

// 0 or an errno.
int Bind(const FileDescriptor& to, int port) {
  const sockaddr_in address = Loopback(port);
  return bind(to.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0 ? 0 : errno;
}
int Connect(const FileDescriptor& from, int port) {
  const sockaddr_in address = Loopback(port);
  return connect(from.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0 ? 0 : errno;
}

// From now on the kernel may choose for `socket` no other port than this. False: this kernel cannot be told so.
bool MayChooseOnly(const FileDescriptor& socket, int port) {
  const uint32_t range = static_cast<uint32_t>(port) << 16 | static_cast<uint32_t>(port);
  return setsockopt(socket.get(), IPPROTO_IP, kLocalPortRange, &range, sizeof(range)) == 0;
}

// What the one who listens there sends until it closes.
std::string Greeting(int port) {
  const FileDescriptor client = Socket(false);
  if (Connect(client, port) != 0) return "";
  std::string text;
  char chunk[64];
  pollfd ready{client.get(), POLLIN, 0};
  while (poll(&ready, 1, static_cast<int>(absl::ToInt64Milliseconds(kDeadline))) == 1) {
    const ssize_t length = read(client.get(), chunk, sizeof(chunk));
    if (length <= 0) break;
    text.append(chunk, static_cast<size_t>(length));
  }
  return text;
}

LaunchPlan ListeningPlan() { return {{"--nproc_per_node=2", ProgramPath("listening_rank")}}; }

// A launch whose ranks leave the port alone.
class HeldPort : public testing::Test {
 protected:
  HeldPort() : launch_(ShellPlan(2, "echo port=$MASTER_PORT; exec sleep 1000")) {
    EXPECT_TRUE(launch_.WaitFor("port=") && launch_.WaitFor("\n")) << launch_.err();
    port_ = NumberAfter(launch_.out(), "port=");
    EXPECT_GT(port_, 0);
  }

  Launch launch_;
  int port_ = 0;
};

TEST(MasterPort, IsWhereRankZeroListens) {
  Launch launch(ListeningPlan());
  ASSERT_TRUE(launch.WaitFor("[0] listening") && launch.WaitFor("\n")) << launch.err();
  EXPECT_EQ(Greeting(NumberAfter(launch.out(), "port=")), WordAfter(launch.out(), "pid="));
  EXPECT_EQ(launch.Finish().exit_code, 0);
}

TEST(MasterPort, GivenByTheUserIsNotTouched) {
  const FileDescriptor probe = Socket(false);
  ASSERT_EQ(Bind(probe, 0), 0);
  sockaddr_in address{};
  socklen_t length = sizeof(address);
  ASSERT_EQ(getsockname(probe.get(), reinterpret_cast<sockaddr*>(&address), &length), 0);
  // The probe keeps the port for itself, which ddprun does not mind, as it binds nothing.
  const int port = ntohs(address.sin_port);
  const Outcome outcome = RunDdprun({{absl::StrCat("--master_port=", port), "/bin/sh", "-c", "echo $MASTER_PORT"}});
  EXPECT_EQ(outcome.out, absl::StrCat("[0] ", port, "\n"));
}

TEST_F(HeldPort, CanBeListenedOnByAStoreThatSharesAddresses) {
  const FileDescriptor store = Socket(/*reuses_address=*/true);
  EXPECT_EQ(Bind(store, port_), 0);
  EXPECT_EQ(listen(store.get(), 1), 0);
  EXPECT_EQ(Connect(Socket(false), port_), 0);
}

TEST_F(HeldPort, IsRefusedToWhoeverDoesNotShareAddresses) { EXPECT_EQ(Bind(Socket(false), port_), EADDRINUSE); }

TEST_F(HeldPort, IsNeverChosenForAnybodyElse) {
  for (const bool reuses_address : {false, true}) {
    const FileDescriptor other = Socket(reuses_address);
    if (!MayChooseOnly(other, port_)) GTEST_SKIP() << "needs Linux 6.3, which can be told to choose this port or none";
    EXPECT_EQ(Bind(other, 0), EADDRINUSE) << "with SO_REUSEADDR=" << reuses_address;
  }
  // An outgoing connection needs a port of its own as well.
  const FileDescriptor server = Socket(true);
  ASSERT_EQ(Bind(server, 0), 0);
  ASSERT_EQ(listen(server.get(), 1), 0);
  sockaddr_in address{};
  socklen_t length = sizeof(address);
  ASSERT_EQ(getsockname(server.get(), reinterpret_cast<sockaddr*>(&address), &length), 0);
  const FileDescriptor client = Socket(false);
  ASSERT_TRUE(MayChooseOnly(client, port_));
  EXPECT_EQ(Connect(client, ntohs(address.sin_port)), EADDRNOTAVAIL);
}

TEST_F(HeldPort, IsFreeAgainAfterTheLaunch) {
  launch_.Signal(SIGTERM);
  launch_.Finish();
  EXPECT_EQ(Bind(Socket(false), port_), 0);
}

TEST_F(HeldPort, IsHeldAlsoWhenDdprunItselfIsKilled) {
  // The ranks have up to the grace period, and their store with them.
  Launch launch(ShellPlan(1, "trap '' TERM; echo port=$MASTER_PORT; exec sleep 1000"));
  ASSERT_TRUE(launch.WaitFor("port=") && launch.WaitFor("\n")) << launch.err();
  launch.Signal(SIGKILL);
  ASSERT_TRUE(launch.WaitFor("the launcher was killed")) << launch.err();
  EXPECT_EQ(Bind(Socket(false), NumberAfter(launch.out(), "port=")), EADDRINUSE);
}

// Both are let go by the end of one pipe. Each rank 0 listens, and answers under its own port.
TEST(Launches, InTwentyPairsAtOneInstantEachHaveAPortOfTheirOwn) {
  for (int pair = 0; pair < 20; ++pair) {
    Pipe gate;
    ASSERT_TRUE(OpenPipe(gate).ok());
    LaunchPlan plan = ListeningPlan();
    plan.gate = &gate;
    Launch a(plan), b(plan);
    gate.write.Close();
    for (Launch* launch : {&a, &b}) {
      ASSERT_TRUE(launch->WaitFor("[0] listening") && launch->WaitFor("\n")) << launch->err();
    }
    EXPECT_NE(NumberAfter(a.out(), "port="), NumberAfter(b.out(), "port="));
    for (Launch* launch : {&a, &b}) {
      EXPECT_EQ(Greeting(NumberAfter(launch->out(), "port=")), WordAfter(launch->out(), "pid="));
      EXPECT_EQ(launch->Finish().exit_code, 0);
    }
  }
}

TEST(Launches, FortyAtOneInstantEachHaveAPortOfTheirOwn) {
  Pipe gate;
  ASSERT_TRUE(OpenPipe(gate).ok());
  LaunchPlan plan = ListeningPlan();
  plan.gate = &gate;
  std::vector<std::unique_ptr<Launch>> launches;
  for (int i = 0; i < 40; ++i) launches.push_back(std::make_unique<Launch>(plan));
  gate.write.Close();
  for (const auto& launch : launches) {
    ASSERT_TRUE(launch->WaitFor("[0] listening") && launch->WaitFor("\n")) << launch->err();
  }
  for (const auto& launch : launches) {
    EXPECT_EQ(Greeting(NumberAfter(launch->out(), "port=")), WordAfter(launch->out(), "pid="));
    EXPECT_EQ(launch->Finish().exit_code, 0);
  }
}

}  // namespace
}  // namespace lockstep::ddprun
