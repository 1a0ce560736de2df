// How a reduction combines the ranks' elements, and which element types each way is defined for.
#ifndef LOCKSTEP_TRANSPORTS_REDUCE_OP_H_
#define LOCKSTEP_TRANSPORTS_REDUCE_OP_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "transports/buffer.h"

namespace lockstep {

// Rules that hold on every transport:
//   kAvg         the sum divided by the number of ranks; of integers, rounded toward zero.
//   kMin, kMax   a NaN on any rank gives NaN on all ranks.
//   kSum         of integers wraps as unsigned arithmetic does.
//   kPremulSum   each rank's elements are multiplied by its CallOptions::premultiplier, then summed; floating point only.
//   kBand, kBor, kBxor   bitwise, integers only.
enum class ReduceOp : uint8_t { kSum, kAvg, kProduct, kMin, kMax, kBand, kBor, kBxor, kPremulSum };
inline constexpr int kNumReduceOps = 9;

absl::string_view ReduceOpName(ReduceOp op);  // "sum", "premul_sum"

// OK if `op` is defined for `dtype`; else INVALID_ARGUMENT naming both. Reductions are defined for f32, f64, i32, i64, u8.
absl::Status CheckReduction(DType dtype, ReduceOp op);

}  // namespace lockstep

#endif  // LOCKSTEP_TRANSPORTS_REDUCE_OP_H_
