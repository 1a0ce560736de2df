#include "transports/reduce_op.h"

#include "absl/strings/str_cat.h"

namespace lockstep {
namespace {

constexpr absl::string_view kNames[kNumReduceOps] = {"sum",  "avg", "product", "min",       "max",
                                                     "band", "bor", "bxor",    "premul_sum"};

constexpr uint8_t kArithmetic = 1, kBitwise = 2, kScaled = 4;  // classes of operations, and what a dtype takes of them

// In the order of the enums.
constexpr uint8_t kOpClass[kNumReduceOps] = {kArithmetic, kArithmetic, kArithmetic, kArithmetic, kArithmetic,
                                             kBitwise,    kBitwise,    kBitwise,    kScaled};
constexpr uint8_t kTaken[kNumDTypes] = {
    0,
    0,
    kArithmetic | kScaled,
    kArithmetic | kScaled,  // f16, bf16, f32, f64
    0,
    kArithmetic | kBitwise,  // i8, u8
    kArithmetic | kBitwise,
    kArithmetic | kBitwise,  // i32, i64
    0,
    0,  // u64, bool
};

}  // namespace

absl::string_view ReduceOpName(ReduceOp op) { return kNames[static_cast<int>(op)]; }

absl::Status CheckReduction(DType dtype, ReduceOp op) {
  const uint8_t taken = kTaken[static_cast<int>(dtype)];
  if ((taken & kOpClass[static_cast<int>(op)]) != 0) return absl::OkStatus();
  if (taken == 0) {
    return absl::InvalidArgumentError(absl::StrCat("reduction ", ReduceOpName(op), " of ", DTypeName(dtype),
                                                   ": reductions take f32, f64, i32, i64 or u8; convert before"));
  }
  return absl::InvalidArgumentError(
      absl::StrCat("reduction ", ReduceOpName(op), " is not defined for ", DTypeName(dtype), ": ",
                   op == ReduceOp::kPremulSum ? "it takes f32 or f64" : "it takes i32, i64 or u8"));
}

}  // namespace lockstep
