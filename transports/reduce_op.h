// How a reduction combines the ranks' elements, and which element types each way is defined for.
#ifndef LOCKSTEP_TRANSPORTS_REDUCE_OP_H_
#define LOCKSTEP_TRANSPORTS_REDUCE_OP_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "transports/buffer.h"

namespace lockstep {

// Rules that hold on every transport. The ranks' elements are combined in rank order: ((rank 0 op rank 1) op rank 2) ...
//   kSum         of integers wraps as unsigned arithmetic does; of bool is "or". Sums and products of f16 and bf16 are computed
//                in f32 over all ranks and rounded once.
//   kAvg         the sum divided by the number of ranks; of integers exact, then rounded toward zero. Not for bool.
//   kProduct     of integers wraps; of bool is "and".
//   kMin, kMax   a NaN on any rank gives a NaN on all ranks; of equal elements (0 and -0) the lowest rank's counts.
//   kBand, kBor, kBxor   bitwise, integers and bool only.
//   kPremulSum   each rank's elements are multiplied by its CallOptions::premultiplier and rounded to their dtype, then summed;
//                floating point only.
// A bool's byte is true if it is not 0; results are 0 or 1. Which of several NaNs a result is, is not said.
enum class ReduceOp : uint8_t { kSum, kAvg, kProduct, kMin, kMax, kBand, kBor, kBxor, kPremulSum };
inline constexpr int kNumReduceOps = 9;

absl::string_view ReduceOpName(ReduceOp op);  // "sum", "premul_sum"

// OK if `op` is defined for `dtype`; else INVALID_ARGUMENT naming both and what `op` takes.
absl::Status CheckReduction(DType dtype, ReduceOp op);

}  // namespace lockstep

#endif  // LOCKSTEP_TRANSPORTS_REDUCE_OP_H_
