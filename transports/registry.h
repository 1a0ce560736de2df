// Transports by name. A transport is linked in by depending on its target, which registers it at start-up:
//
//   LOCKSTEP_REGISTER_TRANSPORT("gloo", GlooTransport);                      // in gloo_transport.cc, alwayslink
//   absl::StatusOr<std::unique_ptr<Transport>> t = CreateTransport("gloo");
//
// Thread-safe. A transport in another repository registers itself the same way.
#ifndef LOCKSTEP_TRANSPORTS_REGISTRY_H_
#define LOCKSTEP_TRANSPORTS_REGISTRY_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "transports/transport.h"

namespace lockstep {

using TransportFactory = std::function<std::unique_ptr<Transport>()>;

// Adds a transport. ALREADY_EXISTS if the name is taken (with both source locations), INVALID_ARGUMENT if it is not made of
// a to z, 0 to 9 and _.
absl::Status RegisterTransport(absl::string_view name, TransportFactory factory, absl::string_view source_location);

// A new object of the transport `name`. NOT_FOUND lists the transports linked in, and the one probably meant.
absl::StatusOr<std::unique_ptr<Transport>> CreateTransport(absl::string_view name);

// The names linked in, sorted.
std::vector<std::string> RegisteredTransports();

namespace registry_internal {
// Registers at start-up; ends the program with the error if that fails.
struct Registrar {
  Registrar(absl::string_view name, TransportFactory factory, absl::string_view source_location);
};
}  // namespace registry_internal

#define LOCKSTEP_REGISTRY_STRING_INNER_(x) #x
#define LOCKSTEP_REGISTRY_STRING_(x) LOCKSTEP_REGISTRY_STRING_INNER_(x)
#define LOCKSTEP_REGISTER_TRANSPORT(name, Class)                                              \
  static const ::lockstep::registry_internal::Registrar lockstep_registrar_for_##Class(       \
      name, [] { return std::unique_ptr<::lockstep::Transport>(std::make_unique<Class>()); }, \
      __FILE__ ":" LOCKSTEP_REGISTRY_STRING_(__LINE__))

}  // namespace lockstep

#endif  // LOCKSTEP_TRANSPORTS_REGISTRY_H_
