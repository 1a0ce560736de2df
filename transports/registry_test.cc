// Transports by name, with all of this repository's linked in.
#include "transports/registry.h"

#include <memory>
#include <string>
#include <utility>

#include "absl/status/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

using ::absl_testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

std::unique_ptr<Transport> None() { return nullptr; }

TEST(Registry, EveryTransportOfTheRepositoryIsThereUnderItsOwnName) {
  EXPECT_THAT(RegisteredTransports(), ElementsAre("gloo", "in_process"));
  for (const std::string& name : RegisteredTransports()) {
    ABSL_ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Transport> transport, CreateTransport(name));
    EXPECT_EQ(transport->name(), name);
  }
}

TEST(Registry, AnUnknownNameListsWhatIsLinkedInAndTheOneProbablyMeant) {
  EXPECT_THAT(CreateTransport("glo").status(),
              StatusIs(absl::StatusCode::kNotFound,
                       AllOf(HasSubstr("\"glo\""), HasSubstr("gloo, in_process. Did you mean gloo? A transport"))));
  EXPECT_THAT(CreateTransport("carrier_pigeon").status(),
              StatusIs(absl::StatusCode::kNotFound, AllOf(HasSubstr("in_process"), Not(HasSubstr("Did you mean")))));
  EXPECT_THAT(CreateTransport("").status(), StatusIs(absl::StatusCode::kNotFound));
}

TEST(Registry, ANameRegisteredTwiceIsAnErrorWithBothPlaces) {
  EXPECT_THAT(RegisterTransport("gloo", None, "mine.cc:7"),
              StatusIs(absl::StatusCode::kAlreadyExists, AllOf(HasSubstr("gloo_transport.cc:"), HasSubstr("mine.cc:7"))));
}

TEST(Registry, BadNamesAreRefused) {
  for (const char* name : {"", "Gloo", "my-transport", "a b", "gl\xC3\xB6\xC3\xB6"}) {
    EXPECT_THAT(RegisterTransport(name, None, "here"), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("here")))
        << name;
  }
}

TEST(RegistryDeathTest, ASecondTransportOfOneNameEndsTheProgramAtStartUp) {
  EXPECT_DEATH(registry_internal::Registrar("gloo", None, "mine.cc:7"), "registered twice.*mine.cc:7");
}

}  // namespace
}  // namespace lockstep
