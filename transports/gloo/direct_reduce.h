// Reductions in rank order, over a mesh: each rank gathers its slice of all ranks' elements, reduces it, and hands it on.
//
// The bytes are those of a ring, 2 (N-1)/N of the buffer a rank for an all-reduce, in two hops instead of 2 (N-1); and every
// element is combined in the order of the ranks by one rank, so that results are the same bits on all ranks, from run to run,
// and over every transport that keeps to that order. What is small goes to all whole, in one hop, and each rank reduces it.
#ifndef LOCKSTEP_TRANSPORTS_GLOO_DIRECT_REDUCE_H_
#define LOCKSTEP_TRANSPORTS_GLOO_DIRECT_REDUCE_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "transports/gloo/gloo_mesh.h"
#include "transports/gloo/transfers.h"
#include "transports/host/operation.h"

namespace lockstep {

// Holds memory to receive into, made when it is first needed: 2 segments a peer. One thread's.
class DirectReduce {
 public:
  explicit DirectReduce(GlooMesh& mesh);

  // Does an all_reduce, reduce or reduce_scatter of at least one element, on all ranks. Throws what Gloo throws.
  void Run(const Operation& operation, uint64_t fingerprint);

 private:
  // What a peer sends before it is reduced, and what this rank has reduced for others: two segments of each, in turns.
  struct Segment {
    std::vector<char> memory;
    std::unique_ptr<Transfers> transfers;
  };

  Segment& At(int rank, int64_t segment) { return segments_[static_cast<size_t>(2 * rank + segment % 2)]; }
  void MakeSegments(int64_t bytes);
  template <typename F>
  void ForEachPeer(F f) const;

  void RunWhole(const Operation& operation, uint64_t fingerprint);
  void RunSliced(const Operation& operation, uint64_t fingerprint);

  GlooMesh& mesh_;
  std::vector<Segment> segments_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_TRANSPORTS_GLOO_DIRECT_REDUCE_H_
