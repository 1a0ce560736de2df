// Element-wise arithmetic on host memory: what reductions are made of. See reduce_op.h for the rules (NaN, wrapping,
// rounding); dtypes and ops are those that CheckReduction allows. Results depend on the elements alone, never on alignment or
// length. Thread-safe; allocates nothing.
#ifndef LOCKSTEP_TRANSPORTS_KERNELS_REDUCE_H_
#define LOCKSTEP_TRANSPORTS_KERNELS_REDUCE_H_

#include "transports/buffer.h"
#include "transports/reduce_op.h"

namespace lockstep {

// inout[i] = inout[i] op in[i]. Same dtype and count. kAvg and kPremulSum add, as kSum: what makes them differ comes before
// (Scale) or after (DivideByRanks). `in` may be `inout`'s memory, else they do not overlap.
void ReduceInto(const Buffer& inout, const ConstBuffer& in, ReduceOp op);

// out[i] = in[i] * factor, in the dtype's own precision; f32 and f64. Same count; in place or apart.
void Scale(const ConstBuffer& in, const Buffer& out, double factor);

// inout[i] = inout[i] / ranks; of integers rounded toward zero.
void DivideByRanks(const Buffer& inout, int ranks);

}  // namespace lockstep

#endif  // LOCKSTEP_TRANSPORTS_KERNELS_REDUCE_H_
