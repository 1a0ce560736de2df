#include "transports/reduce_op.h"

#include <string>

#include "absl/strings/str_cat.h"

namespace lockstep {
namespace {

constexpr absl::string_view kNames[kNumReduceOps] = {"sum",  "avg", "product", "min",       "max",
                                                     "band", "bor", "bxor",    "premul_sum"};

constexpr uint8_t kArithmetic = 1, kBitwise = 2, kScaled = 4, kAverage = 8;  // classes of operations

// In the order of the enum.
constexpr uint8_t kClassOf[kNumReduceOps] = {kArithmetic, kAverage, kArithmetic, kArithmetic, kArithmetic,
                                             kBitwise,    kBitwise, kBitwise,    kScaled};

// The classes that a dtype takes.
uint8_t ClassesOf(DType dtype) {
  constexpr uint8_t kOfFloats = kArithmetic | kAverage | kScaled, kOfIntegers = kArithmetic | kAverage | kBitwise;
  if (dtype == DType::kBool) return kArithmetic | kBitwise;
  return dtype <= DType::kF64 ? kOfFloats : kOfIntegers;
}

}  // namespace

absl::string_view ReduceOpName(ReduceOp op) { return kNames[static_cast<int>(op)]; }

absl::Status CheckReduction(DType dtype, ReduceOp op) {
  const uint8_t wanted = kClassOf[static_cast<int>(op)];
  if ((ClassesOf(dtype) & wanted) != 0) return absl::OkStatus();
  std::string taken;
  for (int other = 0; other < kNumDTypes; ++other) {
    if ((ClassesOf(static_cast<DType>(other)) & wanted) == 0) continue;
    absl::StrAppend(&taken, taken.empty() ? "" : ", ", DTypeName(static_cast<DType>(other)));
  }
  return absl::InvalidArgumentError(
      absl::StrCat("reduction ", ReduceOpName(op), " is not defined for ", DTypeName(dtype), ": it takes ", taken));
}

}  // namespace lockstep
