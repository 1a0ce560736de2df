#include "transports/kernels/reduce.h"

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <type_traits>

namespace lockstep {
namespace {

// Calls `f` with a value of the dtype's C++ type, for those that are reduced.
template <typename F>
void DispatchReducible(DType dtype, F f) {
  switch (dtype) {
    case DType::kF32:
      return f(float{});
    case DType::kF64:
      return f(double{});
    case DType::kI32:
      return f(int32_t{});
    case DType::kI64:
      return f(int64_t{});
    case DType::kU8:
      return f(uint8_t{});
    default:
      std::abort();  // CheckReduction comes first
  }
}

// Signed arithmetic that wraps is done in the unsigned type; u8 is widened by the language and narrowed again.
template <typename T, bool = std::is_floating_point<T>::value>
struct Arithmetic {
  using type = T;
};
template <typename T>
struct Arithmetic<T, false> {
  using type = std::make_unsigned_t<T>;
};

template <typename T>
bool IsNan(T x) {
  if constexpr (std::is_floating_point<T>::value) return std::isnan(x);
  return false;
}

template <typename T, typename F>
void Loop(const Buffer& inout, const ConstBuffer& in, F f) {
  T* const a = static_cast<T*>(inout.data);
  const T* const b = static_cast<const T*>(in.data);
  const int64_t count = inout.count;
  for (int64_t i = 0; i < count; ++i) a[i] = f(a[i], b[i]);
}

template <typename T>
void ReduceBits(const Buffer& inout, const ConstBuffer& in, ReduceOp op) {
  if constexpr (std::is_integral<T>::value) {
    if (op == ReduceOp::kBand) return Loop<T>(inout, in, [](T a, T b) { return static_cast<T>(a & b); });
    if (op == ReduceOp::kBor) return Loop<T>(inout, in, [](T a, T b) { return static_cast<T>(a | b); });
    if (op == ReduceOp::kBxor) return Loop<T>(inout, in, [](T a, T b) { return static_cast<T>(a ^ b); });
  }
  std::abort();  // CheckReduction comes first
}

template <typename T>
void ReduceAs(const Buffer& inout, const ConstBuffer& in, ReduceOp op) {
  using U = typename Arithmetic<T>::type;
  switch (op) {
    case ReduceOp::kSum:
    case ReduceOp::kAvg:
    case ReduceOp::kPremulSum:
      return Loop<T>(inout, in, [](T a, T b) { return static_cast<T>(static_cast<U>(a) + static_cast<U>(b)); });
    case ReduceOp::kProduct:
      return Loop<T>(inout, in, [](T a, T b) { return static_cast<T>(static_cast<U>(a) * static_cast<U>(b)); });
    // A NaN in `inout` loses every comparison and stays.
    case ReduceOp::kMin:
      return Loop<T>(inout, in, [](T a, T b) { return b < a || IsNan(b) ? b : a; });
    case ReduceOp::kMax:
      return Loop<T>(inout, in, [](T a, T b) { return b > a || IsNan(b) ? b : a; });
    case ReduceOp::kBand:
    case ReduceOp::kBor:
    case ReduceOp::kBxor:
      return ReduceBits<T>(inout, in, op);
  }
}

}  // namespace

void ReduceInto(const Buffer& inout, const ConstBuffer& in, ReduceOp op) {
  DispatchReducible(inout.dtype, [&](auto tag) { ReduceAs<decltype(tag)>(inout, in, op); });
}

void Scale(const ConstBuffer& in, const Buffer& out, double factor) {
  DispatchReducible(out.dtype, [&](auto tag) {
    using T = decltype(tag);
    const T* const from = static_cast<const T*>(in.data);
    T* const to = static_cast<T*>(out.data);
    const T times = static_cast<T>(factor);
    for (int64_t i = 0; i < out.count; ++i) to[i] = static_cast<T>(from[i] * times);
  });
}

void DivideByRanks(const Buffer& inout, int ranks) {
  DispatchReducible(inout.dtype, [&](auto tag) {
    using T = decltype(tag);
    T* const elements = static_cast<T*>(inout.data);
    for (int64_t i = 0; i < inout.count; ++i) elements[i] = static_cast<T>(elements[i] / static_cast<T>(ranks));
  });
}

}  // namespace lockstep
