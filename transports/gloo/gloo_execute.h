// Runs one operation over a mesh.
#ifndef LOCKSTEP_TRANSPORTS_GLOO_GLOO_EXECUTE_H_
#define LOCKSTEP_TRANSPORTS_GLOO_GLOO_EXECUTE_H_

#include <cstdint>

#include "transports/gloo/direct_reduce.h"
#include "transports/gloo/gloo_mesh.h"
#include "transports/host/operation.h"

namespace lockstep {

// One thread's. Outlived by the mesh.
class GlooExecutor {
 public:
  explicit GlooExecutor(GlooMesh& mesh) : mesh_(mesh), reduce_(mesh) {}

  // Blocks until the operation has ended on this rank, at its deadline at the latest. `collective` counts the collectives
  // before it on this communicator. Sets `source` to the rank that a receive took its message from. Throws what Gloo throws:
  // call it under CallGloo.
  void Execute(const Operation& operation, int64_t collective, int& source);

 private:
  GlooMesh& mesh_;
  DirectReduce reduce_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_TRANSPORTS_GLOO_GLOO_EXECUTE_H_
