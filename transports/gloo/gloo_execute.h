// Runs operations over a mesh.
#ifndef LOCKSTEP_TRANSPORTS_GLOO_GLOO_EXECUTE_H_
#define LOCKSTEP_TRANSPORTS_GLOO_GLOO_EXECUTE_H_

#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"
#include "transports/gloo/direct_reduce.h"
#include "transports/gloo/gloo_mesh.h"
#include "transports/gloo/stall_check.h"
#include "transports/host/operation.h"

namespace lockstep {

// Where the operations that run stand.
struct Position {
  size_t at = 0;           // which of them is waited for
  int64_t collective = 0;  // how many collectives were before it on this communicator
};

// One thread's. Outlived by what it is given.
class GlooExecutor {
 public:
  GlooExecutor(GlooMesh& mesh, StallCheck& stall_check) : mesh_(mesh), stall_check_(stall_check), reduce_(mesh) {}

  // Blocks until the operations, one or a group that starts together, have ended on this rank, at their deadlines at the latest.
  // Counts on in `position`. Sets `sources` to the ranks that receives took their messages from. Throws what Gloo throws: call
  // it under CallGloo.
  void Execute(absl::Span<const Operation* const> operations, Position& position, absl::Span<int> sources);

 private:
  void ExecuteCollective(const Operation& operation, int64_t collective);

  GlooMesh& mesh_;
  StallCheck& stall_check_;
  DirectReduce reduce_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_TRANSPORTS_GLOO_GLOO_EXECUTE_H_
