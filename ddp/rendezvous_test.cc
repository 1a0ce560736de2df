// Every way to say where a process stands in its job, and every way to say it wrong.
#include "ddp/rendezvous.h"

#include <map>
#include <string>
#include <utility>

#include "absl/status/status_matchers.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

using ::absl_testing::StatusIs;
using ::testing::HasSubstr;

using Variables = std::map<std::string, std::string>;

Environment Table(Variables variables) {
  return [variables = std::move(variables)](absl::string_view name) -> absl::optional<std::string> {
    const auto it = variables.find(std::string(name));
    if (it == variables.end()) return absl::nullopt;
    return it->second;
  };
}

Variables Launched() {
  return {{"RANK", "1"},
          {"WORLD_SIZE", "4"},
          {"LOCAL_RANK", "1"},
          {"LOCAL_WORLD_SIZE", "2"},
          {"MASTER_ADDR", "10.0.0.1"},
          {"MASTER_PORT", "29500"}};
}

Variables With(Variables variables, const std::string& name, const std::string& value) {
  variables[name] = value;
  return variables;
}

Variables Without(Variables variables, const std::string& name) {
  variables.erase(name);
  return variables;
}

ProcessGroupOptions ByUrl(const std::string& url) {
  ProcessGroupOptions options;
  options.init_method = url;
  return options;
}

TEST(Rendezvous, WithoutALauncherAProcessIsAGroupOfOne) {
  ABSL_ASSERT_OK_AND_ASSIGN(const Rendezvous found, FindRendezvous({}, Table({})));
  EXPECT_EQ(found.info.rank, 0);
  EXPECT_EQ(found.info.world_size, 1);
}

TEST(Rendezvous, ALaunchersVariablesAreTaken) {
  ABSL_ASSERT_OK_AND_ASSIGN(const Rendezvous found, FindRendezvous({}, Table(Launched())));
  EXPECT_EQ(found.info.rank, 1);
  EXPECT_EQ(found.info.world_size, 4);
  EXPECT_EQ(found.info.local_rank, 1);
  EXPECT_EQ(found.info.local_world_size, 2);
  EXPECT_EQ(found.store.host, "10.0.0.1");
  EXPECT_EQ(found.store.port, 29500);
}

TEST(Rendezvous, AGroupOfOneNeedsNoPlaceToMeet) {
  ABSL_ASSERT_OK_AND_ASSIGN(const Rendezvous found, FindRendezvous({}, Table({{"RANK", "0"}, {"WORLD_SIZE", "1"}})));
  EXPECT_EQ(found.info.world_size, 1);
}

TEST(Rendezvous, OptionsWinOverTheEnvironment) {
  ProcessGroupOptions options;
  options.rank = 3;
  options.world_size = 5;
  ABSL_ASSERT_OK_AND_ASSIGN(const Rendezvous found, FindRendezvous(options, Table(Launched())));
  EXPECT_EQ(found.info.rank, 3);
  EXPECT_EQ(found.info.world_size, 5);
}

TEST(Rendezvous, UrlsSayEverythingOrLeaveRankAndSizeToOthers) {
  struct Case {
    std::string url;
    Variables variables;
    std::string host;
    int port, rank, world_size;
  };
  const Case kCases[] = {
      {"tcp://10.0.0.1:4000?rank=2&world_size=3", {}, "10.0.0.1", 4000, 2, 3},
      {"tcp://host-a:1?world_size=3&rank=0", {}, "host-a", 1, 0, 3},
      {"tcp://[::1]:65535/?rank=0&world_size=2", {}, "::1", 65535, 0, 2},
      {"tcp://localhost:4000", Launched(), "localhost", 4000, 1, 4},
      {"tcp://localhost:4000?rank=0", Launched(), "localhost", 4000, 0, 4},
  };
  for (const Case& c : kCases) {
    SCOPED_TRACE(c.url);
    ABSL_ASSERT_OK_AND_ASSIGN(const Rendezvous found, FindRendezvous(ByUrl(c.url), Table(c.variables)));
    EXPECT_EQ(found.store.host, c.host);
    EXPECT_EQ(found.store.port, c.port);
    EXPECT_EQ(found.info.rank, c.rank);
    EXPECT_EQ(found.info.world_size, c.world_size);
  }
}

TEST(Rendezvous, EveryMalformedVariableIsOneLineWithItsNameItsValueAndWhatIsAllowed) {
  struct Case {
    Variables variables;
    std::string shows;
    std::string allowed;
  };
  const Variables full = Launched();
  const Case kCases[] = {
      {Without(full, "RANK"), "RANK is not set", "MASTER_PORT"},
      {Without(full, "WORLD_SIZE"), "WORLD_SIZE is not set", "MASTER_PORT"},
      {Without(full, "MASTER_ADDR"), "MASTER_ADDR is not set", "MASTER_PORT"},
      {Without(full, "MASTER_PORT"), "MASTER_PORT is not set", "launcher"},
      {{{"LOCAL_RANK", "0"}}, "WORLD_SIZE is not set, though LOCAL_RANK=\"0\"", "alone"},
      {{{"MASTER_PORT", "1"}}, "WORLD_SIZE is not set, though MASTER_PORT=\"1\"", "alone"},
      {With(full, "RANK", ""), "RANK=\"\"", "from 0 to 3"},
      {With(full, "RANK", "two"), "RANK=\"two\"", "from 0 to 3"},
      {With(full, "RANK", "1.0"), "RANK=\"1.0\"", "from 0 to 3"},
      {With(full, "RANK", " 1"), "RANK=\" 1\"", "from 0 to 3"},
      {With(full, "RANK", "+1"), "RANK=\"+1\"", "from 0 to 3"},
      {With(full, "RANK", "-1"), "RANK=\"-1\"", "from 0 to 3"},
      {With(full, "RANK", "4"), "RANK=\"4\"", "from 0 to 3"},
      {With(full, "RANK", "99999999999999999999"), "RANK=\"99999999999999999999\"", "from 0 to 3"},
      {With(full, "RANK", "1\n2"), "RANK=\"1\\n2\"", "from 0 to 3"},
      {With(full, "WORLD_SIZE", ""), "WORLD_SIZE=\"\"", "from 1 to 1000000"},
      {With(full, "WORLD_SIZE", "0"), "WORLD_SIZE=\"0\"", "from 1 to 1000000"},
      {With(full, "WORLD_SIZE", "many"), "WORLD_SIZE=\"many\"", "from 1 to 1000000"},
      {With(full, "WORLD_SIZE", "1000001"), "WORLD_SIZE=\"1000001\"", "from 1 to 1000000"},
      {With(full, "WORLD_SIZE", "1"), "RANK=\"1\"", "from 0 to 0"},
      {With(full, "LOCAL_RANK", ""), "LOCAL_RANK=\"\"", "from 0 to 1"},
      {With(full, "LOCAL_RANK", "2"), "LOCAL_RANK=\"2\"", "from 0 to 1"},
      {With(full, "LOCAL_RANK", "x"), "LOCAL_RANK=\"x\"", "from 0 to 1"},
      {With(full, "LOCAL_WORLD_SIZE", "5"), "LOCAL_WORLD_SIZE=\"5\"", "from 1 to 4"},
      {With(full, "LOCAL_WORLD_SIZE", "0"), "LOCAL_WORLD_SIZE=\"0\"", "from 1 to 4"},
      {With(full, "LOCAL_WORLD_SIZE", ""), "LOCAL_WORLD_SIZE=\"\"", "from 1 to 4"},
      {With(full, "LOCAL_WORLD_SIZE", "two"), "LOCAL_WORLD_SIZE=\"two\"", "from 1 to 4"},
      {With(With(full, "WORLD_SIZE", "2"), "LOCAL_RANK", "0"), "LOCAL_RANK=\"0\" contradicts rank 1",
       "the same as the rank"},
      {With(full, "MASTER_ADDR", ""), "MASTER_ADDR=\"\"", "without a port"},
      {With(full, "MASTER_ADDR", "10.0.0.1:29500"), "MASTER_ADDR=\"10.0.0.1:29500\"", "without a port"},
      {With(full, "MASTER_ADDR", "[::1]"), "MASTER_ADDR=\"[::1]\"", "without brackets"},
      {With(full, "MASTER_ADDR", "tcp://a"), "MASTER_ADDR=\"tcp://a\"", "host name"},
      {With(full, "MASTER_ADDR", "a b"), "MASTER_ADDR=\"a b\"", "host name"},
      {With(full, "MASTER_PORT", ""), "MASTER_PORT=\"\"", "from 1 to 65535"},
      {With(full, "MASTER_PORT", "0"), "MASTER_PORT=\"0\"", "from 1 to 65535"},
      {With(full, "MASTER_PORT", "65536"), "MASTER_PORT=\"65536\"", "from 1 to 65535"},
      {With(full, "MASTER_PORT", "http"), "MASTER_PORT=\"http\"", "from 1 to 65535"},
  };
  for (const Case& c : kCases) {
    const absl::Status status = FindRendezvous({}, Table(c.variables)).status();
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(c.shows)));
    EXPECT_THAT(status.message(), HasSubstr(c.allowed));
    EXPECT_EQ(status.message().find('\n'), absl::string_view::npos) << status;
  }
}

TEST(Rendezvous, EveryMalformedUrlIsOneLineThatShowsItAndTheFormAllowed) {
  const std::pair<const char*, const char*> kCases[] = {
      {"", "\"\" is unknown"},
      {"env:/", "\"env:/\" is unknown"},
      {"http://a:1", "\"http://a:1\" is unknown"},
      {"tcp://a?rank=0&world_size=2", "has no port"},
      {"tcp://[::1]?rank=0&world_size=2", "has no port"},
      {"tcp://[::1:1?rank=0&world_size=2", "has no port"},
      {"tcp://::1:29500?rank=0&world_size=2", "without brackets"},
      {"tcp://:1?rank=0&world_size=2", "host=\"\""},
      {"tcp://a b:1?rank=0&world_size=2", "host=\"a b\""},
      {"tcp://a:?rank=0&world_size=2", "port=\"\""},
      {"tcp://a:0?rank=0&world_size=2", "port=\"0\""},
      {"tcp://a:65536?rank=0&world_size=2", "port=\"65536\""},
      {"tcp://a:1?rank=2&world_size=2", "rank=\"2\""},
      {"tcp://a:1?rank=x&world_size=2", "rank=\"x\""},
      {"tcp://a:1?rank=&world_size=2", "rank=\"\""},
      {"tcp://a:1?rank=0&world_size=0", "world_size=\"0\""},
      {"tcp://a:1?rank=0&rank=1&world_size=2", "rank twice"},
      {"tcp://a:1?rnak=0&world_size=2", "unknown parameter \"rnak\""},
      {"tcp://a:1?rank=0", "WORLD_SIZE is not set"},
      {"tcp://a:1?world_size=2", "RANK is not set"},
      {"tcp://a:1", "WORLD_SIZE is not set"},
      {"tcp://a:1", "ends with ?rank=R&world_size=N"},
  };
  for (const auto& [url, shows] : kCases) {
    const absl::Status status = FindRendezvous(ByUrl(url), Table({})).status();
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(shows))) << url;
  }
}

TEST(Rendezvous, OptionsAreCheckedAndMayNotContradictTheUrl) {
  ProcessGroupOptions options = ByUrl("tcp://a:1?rank=0&world_size=2");
  options.rank = 1;
  EXPECT_THAT(FindRendezvous(options, Table({})).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("the option rank=\"1\" contradicts")));
  options.rank = 0;
  ABSL_EXPECT_OK(FindRendezvous(options, Table({})).status());
  options.world_size = 3;
  EXPECT_THAT(FindRendezvous(options, Table({})).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("the option world_size=\"3\" contradicts")));
  options = {};
  options.rank = -1;
  EXPECT_THAT(FindRendezvous(options, Table(Launched())).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("the option rank=\"-1\"")));
  options = {};
  options.rank = 0;
  EXPECT_THAT(FindRendezvous(options, Table({})).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("WORLD_SIZE is not set")));
  options = {};
  options.timeout = absl::ZeroDuration();
  EXPECT_THAT(FindRendezvous(options, Table({})).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("timeout is 0")));
}

}  // namespace
}  // namespace lockstep
