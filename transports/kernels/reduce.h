// Element-wise arithmetic on host memory: what reductions are made of. See reduce_op.h for the rules (order, NaN, wrapping,
// rounding); dtypes and ops are those that CheckReduction allows. Results depend on the elements alone: not on alignment,
// length, or the instructions that the processor has. Thread-safe; allocates nothing.
//
//   const void* slices[] = {rank0.data, rank1.data, rank2.data};
//   Reduce(slices, ReduceOp::kAvg, slice);                          // out[i] = ((s0[i] + s1[i]) + s2[i]) / 3
#ifndef LOCKSTEP_TRANSPORTS_KERNELS_REDUCE_H_
#define LOCKSTEP_TRANSPORTS_KERNELS_REDUCE_H_

#include "absl/types/span.h"
#include "transports/buffer.h"
#include "transports/reduce_op.h"

namespace lockstep {

// out[i] = ((inputs[0][i] op inputs[1][i]) op inputs[2][i]) ..., finished as `op` says; kPremulSum takes inputs that are
// multiplied already. At least one input, each of out.count elements of its dtype. `out` may be one of them; else they do
// not overlap it.
void Reduce(absl::Span<const void* const> inputs, ReduceOp op, const Buffer& out);

// The same for kPremulSum of inputs that are not: inputs[k][i] * factors[k] is rounded to the dtype, as Scale rounds it.
void ReducePremultiplied(absl::Span<const void* const> inputs, absl::Span<const double> factors, const Buffer& out);

// out[i] = in[i] * factor, which is first rounded to the precision it is computed in: f64, for others f32. Floating point
// only. Same count; in place or apart.
void Scale(const ConstBuffer& in, double factor, const Buffer& out);

}  // namespace lockstep

#endif  // LOCKSTEP_TRANSPORTS_KERNELS_REDUCE_H_
