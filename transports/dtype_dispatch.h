// From a DType to its C++ type: the one dispatch over element types.
//
//   WithDType(buffer.dtype, [&](auto type) {
//     using T = typename decltype(type)::type;        // Float16, BFloat16, float, ..., bool
//     Fill(static_cast<T*>(buffer.data), buffer.count);
//   });
#ifndef LOCKSTEP_TRANSPORTS_DTYPE_DISPATCH_H_
#define LOCKSTEP_TRANSPORTS_DTYPE_DISPATCH_H_

#include <cstdint>

#include "transports/buffer.h"
#include "transports/float16.h"

namespace lockstep {

template <typename T>
struct TypeTag {
  using type = T;
};

// Calls `f` with the TypeTag of `dtype`'s C++ type and returns what it returns, which must be of one type for all.
template <typename F>
auto WithDType(DType dtype, F&& f) {
  switch (dtype) {
    case DType::kF16:
      return f(TypeTag<Float16>());
    case DType::kBF16:
      return f(TypeTag<BFloat16>());
    case DType::kF32:
      return f(TypeTag<float>());
    case DType::kF64:
      return f(TypeTag<double>());
    case DType::kI8:
      return f(TypeTag<int8_t>());
    case DType::kU8:
      return f(TypeTag<uint8_t>());
    case DType::kI32:
      return f(TypeTag<int32_t>());
    case DType::kI64:
      return f(TypeTag<int64_t>());
    case DType::kU64:
      return f(TypeTag<uint64_t>());
    case DType::kBool:
      break;
  }
  return f(TypeTag<bool>());
}

}  // namespace lockstep

#endif  // LOCKSTEP_TRANSPORTS_DTYPE_DISPATCH_H_
