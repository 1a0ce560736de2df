#include "transports/host/operation.h"

#include <algorithm>
#include <functional>
#include <numeric>

namespace lockstep {

absl::string_view OperationKindName(OperationKind kind) {
  constexpr absl::string_view kNames[kNumOperationKinds] = {
      "all_reduce", "reduce",     "reduce_scatter", "broadcast", "all_gather", "gather",
      "scatter",    "all_to_all", "barrier",        "send",      "recv"};
  return kNames[static_cast<int>(kind)];
}

Parts::Parts(absl::Span<const int64_t> counts) {
  const bool all_equal = std::adjacent_find(counts.begin(), counts.end(), std::not_equal_to<>()) == counts.end();
  if (all_equal) {
    each_ = counts.empty() ? 0 : counts[0];
  } else {
    counts_ = std::make_shared<const std::vector<int64_t>>(counts.begin(), counts.end());
  }
}

int64_t Parts::count(int rank) const {
  if (counts_ != nullptr) return (*counts_)[static_cast<size_t>(rank)];
  return std::min(each_, total_ - begin(rank));
}

int64_t Parts::begin(int rank) const {
  if (counts_ == nullptr) return std::min(each_ * rank, total_);
  return std::accumulate(counts_->begin(), counts_->begin() + rank, int64_t{0});
}

bool operator==(const Parts& a, const Parts& b) {
  if (a.equal() || b.equal()) return a.equal() && b.equal() && a.each_ == b.each_ && a.total_ == b.total_;
  return *a.counts_ == *b.counts_;
}

void Operation::SetName(absl::string_view text) {
  const size_t kept = std::min(text.size(), name.size() - 1);
  std::copy_n(text.data(), kept, name.data());
  name[kept] = '\0';
}

Buffer PartOf(const Buffer& buffer, const Parts& parts, int rank) {
  Buffer part = buffer;
  part.data = static_cast<char*>(buffer.data) + parts.begin(rank) * SizeOf(buffer.dtype);
  part.count = parts.count(rank);
  return part;
}

ConstBuffer PartOf(const ConstBuffer& buffer, const Parts& parts, int rank) {
  ConstBuffer part = buffer;
  part.data = static_cast<const char*>(buffer.data) + parts.begin(rank) * SizeOf(buffer.dtype);
  part.count = parts.count(rank);
  return part;
}

}  // namespace lockstep
