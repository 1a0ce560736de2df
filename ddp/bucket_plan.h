// Which gradients are reduced together, and where each lies.
//
// Two steps: AssignBuckets groups parameters by size (PyTorch's rule, so that what is known about bucket sizes there holds
// here), MakeBucketPlan applies it to a model in backward order and lays the buckets out in one arena. Both are pure: equal
// input gives equal output on every rank.
#ifndef LOCKSTEP_DDP_BUCKET_PLAN_H_
#define LOCKSTEP_DDP_BUCKET_PLAN_H_

#include <cstdint>
#include <limits>
#include <vector>

#include "absl/types/span.h"
#include "ddp/model.h"
#include "transports/buffer.h"

namespace lockstep {

struct BucketCandidate {
  int64_t bytes = 0;
  DType dtype = DType::kF32;
  Device device;
  bool sparse = false;  // reduced alone
};

struct BucketAssignment {
  std::vector<int> members;  // positions among the candidates, in the order they were taken
  int64_t limit = 0;         // the limit that the bucket was filled under; 0 for a sparse one
};

inline constexpr int64_t kNoBucketLimit = std::numeric_limits<int64_t>::max();

// Takes the candidates one by one, in `order` (empty: as they stand), into one open bucket for each dtype and device. A
// bucket whose bytes reach its limit is closed, and the next of that dtype and device is filled under the next of `limits`
// (the last repeats). So a bucket exceeds its limit by less than its last member. With an empty `order` the buckets come
// sorted by their smallest member; else as they were closed, the ones left open last.
//
//   bytes 40 40 40 40, order 3 2 1 0, limits 40 80   ->   [3] [2 1] [0]
//
// Source: torch/csrc/distributed/c10d/reducer.cpp, compute_bucket_assignment_by_size (behaviour only; vectors in the test).
std::vector<BucketAssignment> AssignBuckets(absl::Span<const BucketCandidate> candidates, absl::Span<const int64_t> limits,
                                            absl::Span<const int> order = {});

// One gradient's place.
struct BucketSlot {
  int parameter = 0;   // position in the model
  int64_t offset = 0;  // elements from the bucket's start
  int64_t count = 0;
};

// One run of the arena that is reduced by one operation.
struct Bucket {
  DType dtype = DType::kF32;
  int64_t arena_offset = 0;  // bytes
  int64_t count = 0;         // elements, gaps and (in the last bucket) the tail included
  std::vector<BucketSlot> slots;
};

struct BucketPlan {
  std::vector<Bucket> buckets;  // in launch order: the gradients that backward makes first come first
  int64_t tail_offset = 0;      // elements from the last bucket's start: `tail_count` elements that belong to no gradient
  int64_t arena_bytes = 0;
};

// The plan for a model's parameters that require a gradient, last parameter first. Every limit is at least 1 byte; at least
// one parameter requires a gradient. `tail_count` elements are added to the last bucket.
BucketPlan MakeBucketPlan(absl::Span<const ParameterInfo> parameters, int64_t first_bucket_bytes, int64_t bucket_cap_bytes,
                          int64_t tail_count);

// The product of the dimensions; 1 for a scalar.
int64_t ElementCount(absl::Span<const int64_t> shape);

}  // namespace lockstep

#endif  // LOCKSTEP_DDP_BUCKET_PLAN_H_
