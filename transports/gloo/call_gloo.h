// Where Gloo's exceptions end.
#ifndef LOCKSTEP_TRANSPORTS_GLOO_CALL_GLOO_H_
#define LOCKSTEP_TRANSPORTS_GLOO_CALL_GLOO_H_

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"

namespace lockstep {

// Runs `body`, the one place where Gloo may throw. An I/O error (a closed connection, a time limit: Gloo's types do not tell
// them apart) becomes UNAVAILABLE, any other exception INTERNAL, with Gloo's text less its source location.
absl::Status CallGloo(absl::FunctionRef<void()> body);

}  // namespace lockstep

#endif  // LOCKSTEP_TRANSPORTS_GLOO_CALL_GLOO_H_
