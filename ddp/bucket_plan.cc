#include "ddp/bucket_plan.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

#include "transports/arena.h"

namespace lockstep {
namespace {

using BucketKey = std::tuple<DType, DeviceType, int>;

struct OpenBucket {
  std::vector<int> members;
  int64_t bytes = 0;
  size_t limit_index = 0;
};

// Gradients of at least this many bytes start on a cache line, so that vector code runs aligned and two threads that write
// neighbours do not share one; smaller ones are packed, since for 100,000 scalars the gaps would outweigh them.
constexpr int64_t kAlignedSlotBytes = 256;
constexpr int64_t kSlotAlignment = 64;

int64_t RoundUp(int64_t value, int64_t multiple) { return (value + multiple - 1) / multiple * multiple; }

void SortBySmallestMember(std::vector<BucketAssignment>& buckets) {
  std::sort(buckets.begin(), buckets.end(), [](const BucketAssignment& a, const BucketAssignment& b) {
    return *std::min_element(a.members.begin(), a.members.end()) < *std::min_element(b.members.begin(), b.members.end());
  });
}

std::vector<int> BackwardOrder(absl::Span<const ParameterInfo> parameters) {
  std::vector<int> order;
  for (int i = static_cast<int>(parameters.size()) - 1; i >= 0; --i) {
    if (parameters[i].requires_grad) order.push_back(i);
  }
  return order;
}

std::vector<BucketCandidate> Candidates(absl::Span<const ParameterInfo> parameters) {
  std::vector<BucketCandidate> candidates;
  candidates.reserve(parameters.size());
  for (const ParameterInfo& p : parameters) {
    candidates.push_back({ElementCount(p.shape) * SizeOf(p.dtype), p.dtype, p.device, /*sparse=*/false});
  }
  return candidates;
}

Bucket LayOut(const std::vector<int>& members, absl::Span<const ParameterInfo> parameters) {
  Bucket bucket;
  bucket.dtype = parameters[members.front()].dtype;
  const int64_t size = SizeOf(bucket.dtype);
  for (int parameter : members) {
    const int64_t count = ElementCount(parameters[parameter].shape);
    if (count * size >= kAlignedSlotBytes) bucket.count = RoundUp(bucket.count, kSlotAlignment / size);
    bucket.slots.push_back({parameter, bucket.count, count});
    bucket.count += count;
  }
  return bucket;
}

}  // namespace

int64_t ElementCount(absl::Span<const int64_t> shape) {
  return std::accumulate(shape.begin(), shape.end(), int64_t{1}, [](int64_t a, int64_t b) { return a * b; });
}

std::vector<BucketAssignment> AssignBuckets(absl::Span<const BucketCandidate> candidates, absl::Span<const int64_t> limits,
                                            absl::Span<const int> order) {
  std::vector<int> as_they_stand;
  if (order.empty()) {
    as_they_stand.resize(candidates.size());
    std::iota(as_they_stand.begin(), as_they_stand.end(), 0);
  }
  std::vector<BucketAssignment> buckets;
  std::map<BucketKey, OpenBucket> open;
  for (int index : order.empty() ? as_they_stand : std::vector<int>(order.begin(), order.end())) {
    const BucketCandidate& candidate = candidates[index];
    if (candidate.sparse) {
      buckets.push_back({{index}, 0});
      continue;
    }
    OpenBucket& bucket = open[{candidate.dtype, candidate.device.type, candidate.device.index}];
    bucket.members.push_back(index);
    bucket.bytes += candidate.bytes;
    const int64_t limit = limits[bucket.limit_index];
    if (bucket.bytes < limit) continue;
    buckets.push_back({std::exchange(bucket.members, {}), limit});
    bucket.bytes = 0;
    bucket.limit_index = std::min(bucket.limit_index + 1, limits.size() - 1);
  }
  for (auto& [key, bucket] : open) {
    if (!bucket.members.empty()) buckets.push_back({std::move(bucket.members), limits[bucket.limit_index]});
  }
  if (order.empty()) SortBySmallestMember(buckets);
  return buckets;
}

BucketPlan MakeBucketPlan(absl::Span<const ParameterInfo> parameters, int64_t first_bucket_bytes, int64_t bucket_cap_bytes,
                          int64_t tail_count) {
  const std::vector<int> order = BackwardOrder(parameters);
  std::vector<BucketAssignment> assignments =
      AssignBuckets(Candidates(parameters), {first_bucket_bytes, bucket_cap_bytes}, order);
  // A bucket is complete with its last member. With several dtypes the order of closing is not that order, since a bucket
  // that never fills is closed last whatever it waits for.
  std::stable_sort(assignments.begin(), assignments.end(),
                   [](const BucketAssignment& a, const BucketAssignment& b) { return a.members.back() > b.members.back(); });
  BucketPlan plan;
  for (const BucketAssignment& assignment : assignments) plan.buckets.push_back(LayOut(assignment.members, parameters));
  Bucket& last = plan.buckets.back();
  plan.tail_offset = last.count;
  last.count += tail_count;
  for (Bucket& bucket : plan.buckets) {
    bucket.arena_offset = plan.arena_bytes;
    plan.arena_bytes += RoundUp(bucket.count * SizeOf(bucket.dtype), Arena::kAlignment);
  }
  return plan;
}

}  // namespace lockstep
