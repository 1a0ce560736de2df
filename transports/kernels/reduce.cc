#include "transports/kernels/reduce.h"

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "transports/dtype_dispatch.h"

// Highway includes this file once more for each set of instructions, each time with another HWY_NAMESPACE.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "transports/kernels/reduce.cc"
#include "hwy/foreach_target.h"
//
#include "hwy/highway.h"
#include "transports/kernels/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace lockstep::HWY_NAMESPACE {

struct Sum {
  template <class V>
  HWY_INLINE V operator()(V a, V b) const {
    return hn::Add(a, b);
  }
};
struct Product {
  template <class V>
  HWY_INLINE V operator()(V a, V b) const {
    return hn::Mul(a, b);
  }
};
// Spelled out, since processors' own minimum differs for NaN and for zeros of two signs: the first of two equals stays.
template <class V>
HWY_INLINE V Choose(hn::Mask<hn::DFromV<V>> second, V a, V b) {
  if constexpr (std::is_floating_point<hn::TFromV<V>>::value) return hn::IfThenElse(hn::Or(second, hn::IsNaN(b)), b, a);
  return hn::IfThenElse(second, b, a);
}
struct Minimum {
  template <class V>
  HWY_INLINE V operator()(V a, V b) const {
    return Choose(hn::Lt(b, a), a, b);
  }
};
struct Maximum {
  template <class V>
  HWY_INLINE V operator()(V a, V b) const {
    return Choose(hn::Gt(b, a), a, b);
  }
};
struct BitAnd {
  template <class V>
  HWY_INLINE V operator()(V a, V b) const {
    return hn::And(a, b);
  }
};
struct BitOr {
  template <class V>
  HWY_INLINE V operator()(V a, V b) const {
    return hn::Or(a, b);
  }
};
struct BitXor {
  template <class V>
  HWY_INLINE V operator()(V a, V b) const {
    return hn::Xor(a, b);
  }
};

// How the lanes of input `k` from element `i` on are fetched, and how a finished vector is put away.
template <typename T>
struct Plain {
  const void* const* inputs;
  template <class D>
  HWY_INLINE hn::Vec<D> Fetch(D d, size_t k, int64_t i) const {
    return Element<T>::Load(d, static_cast<const T*>(inputs[k]) + i);
  }
};
template <typename T>
struct Multiplied {
  const void* const* inputs;
  const double* factors;
  template <class D>
  HWY_INLINE hn::Vec<D> Fetch(D d, size_t k, int64_t i) const {
    const auto factor = hn::Set(d, static_cast<hn::TFromD<D>>(factors[k]));
    return Rounded<T>(d, hn::Mul(Element<T>::Load(d, static_cast<const T*>(inputs[k]) + i), factor));
  }
};
struct Unchanged {
  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D, hn::Vec<D> v) const {
    return v;
  }
};
struct DividedBy {
  size_t divisor;
  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D d, hn::Vec<D> v) const {
    return hn::Div(v, hn::Set(d, static_cast<hn::TFromD<D>>(divisor)));
  }
};

template <typename T, class D, class Source, class Op, class Finish>
HWY_INLINE void ReduceVector(D d, const Source& source, size_t n, Op op, Finish finish, T* out, int64_t i) {
  auto sum = source.Fetch(d, 0, i);
  for (size_t k = 1; k < n; ++k) sum = op(sum, source.Fetch(d, k, i));
  Element<T>::Store(d, finish(d, sum), out + i);
}

// Four vectors at a time, so that the loop over inputs costs little and additions do not wait for each other.
template <typename T, class D, class Source, class Op, class Finish>
HWY_INLINE void ReduceFourVectors(D d, const Source& source, size_t n, Op op, Finish finish, T* out, int64_t i) {
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const int64_t i1 = i + lanes, i2 = i1 + lanes, i3 = i2 + lanes;
  auto s0 = source.Fetch(d, 0, i), s1 = source.Fetch(d, 0, i1), s2 = source.Fetch(d, 0, i2), s3 = source.Fetch(d, 0, i3);
  for (size_t k = 1; k < n; ++k) {
    s0 = op(s0, source.Fetch(d, k, i));
    s1 = op(s1, source.Fetch(d, k, i1));
    s2 = op(s2, source.Fetch(d, k, i2));
    s3 = op(s3, source.Fetch(d, k, i3));
  }
  Element<T>::Store(d, finish(d, s0), out + i);
  Element<T>::Store(d, finish(d, s1), out + i1);
  Element<T>::Store(d, finish(d, s2), out + i2);
  Element<T>::Store(d, finish(d, s3), out + i3);
}

template <typename T, class Source, class Op, class Finish>
void Loop(const Source& source, size_t n, Op op, Finish finish, const Buffer& out) {
  using Lane = typename Element<T>::Lane;
  const hn::ScalableTag<Lane> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  T* const to = static_cast<T*>(out.data);
  int64_t i = 0;
  for (; i + 4 * lanes <= out.count; i += 4 * lanes) ReduceFourVectors(d, source, n, op, finish, to, i);
  for (; i + lanes <= out.count; i += lanes) ReduceVector(d, source, n, op, finish, to, i);
  const hn::CappedTag<Lane, 1> one;
  for (; i < out.count; ++i) ReduceVector(one, source, n, op, finish, to, i);
}

// What vectors do not do: in `Wide`, one element at a time.
template <typename T, typename Wide, class Op, class Finish>
void LoopOneByOne(const void* const* inputs, size_t n, Op op, Finish finish, const Buffer& out) {
  T* const to = static_cast<T*>(out.data);
  for (int64_t i = 0; i < out.count; ++i) {
    // NOLINTNEXTLINE(bugprone-signed-char-misuse): an i8 is a number, no character
    auto result = static_cast<Wide>(static_cast<const T*>(inputs[0])[i]);
    for (size_t k = 1; k < n; ++k) result = op(result, static_cast<Wide>(static_cast<const T*>(inputs[k])[i]));
    to[i] = static_cast<T>(finish(result));
  }
}

// The sum does not wrap before the division.
template <typename T>
void AverageIntegers(const void* const* inputs, size_t n, const Buffer& out) {
  using Wide = std::conditional_t<sizeof(T) < 8, int64_t, __int128>;
  const auto add = [](Wide a, Wide b) { return a + b; };
  LoopOneByOne<T, Wide>(
      inputs, n, add, [n](Wide sum) { return sum / static_cast<Wide>(n); }, out);
}

template <typename T>
void MultiplyBytes(const void* const* inputs, size_t n, const Buffer& out) {
  const auto multiply = [](uint32_t a, uint32_t b) { return (a * b) & 0xff; };
  LoopOneByOne<T, uint32_t>(
      inputs, n, multiply, [](uint32_t product) { return product; }, out);
}

template <typename T>
void ReduceAs(const void* const* inputs, size_t n, ReduceOp op, const Buffer& out) {
  constexpr bool kFloat = std::is_floating_point<typename Element<T>::Lane>::value;
  const Plain<T> source{inputs};
  const auto loop = [&](auto function) { Loop<T>(source, n, function, Unchanged(), out); };
  if constexpr (!kFloat) {
    if (op == ReduceOp::kBand) return loop(BitAnd());
    if (op == ReduceOp::kBor) return loop(BitOr());
    if (op == ReduceOp::kBxor) return loop(BitXor());
  }
  if (op == ReduceOp::kMin) return loop(Minimum());
  if (op == ReduceOp::kMax) return loop(Maximum());
  if constexpr (sizeof(T) == 1) {
    if (op == ReduceOp::kProduct) return MultiplyBytes<T>(inputs, n, out);
  } else {
    if (op == ReduceOp::kProduct) return loop(Product());
  }
  if (op != ReduceOp::kAvg) return loop(Sum());
  if constexpr (kFloat) {
    Loop<T>(source, n, Sum(), DividedBy{n}, out);
  } else {
    AverageIntegers<T>(inputs, n, out);
  }
}

// Of truth values: the sum and the maximum are "or", the product and the minimum "and".
template <>
void ReduceAs<bool>(const void* const* inputs, size_t n, ReduceOp op, const Buffer& out) {
  const Plain<bool> source{inputs};
  if (op == ReduceOp::kBxor) return Loop<bool>(source, n, BitXor(), Unchanged(), out);
  const bool all = op == ReduceOp::kBand || op == ReduceOp::kMin || op == ReduceOp::kProduct;
  if (all) return Loop<bool>(source, n, BitAnd(), Unchanged(), out);
  Loop<bool>(source, n, BitOr(), Unchanged(), out);
}

void ReduceAny(const void* const* inputs, size_t n, ReduceOp op, const Buffer& out) {
  WithDType(out.dtype, [&](auto type) { ReduceAs<typename decltype(type)::type>(inputs, n, op, out); });
}

void ReducePremultipliedAny(const void* const* inputs, const double* factors, size_t n, const Buffer& out) {
  WithDType(out.dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    if constexpr (std::is_floating_point<typename Element<T>::Lane>::value) {
      Loop<T>(Multiplied<T>{inputs, factors}, n, Sum(), Unchanged(), out);
    }
  });
}

}  // namespace lockstep::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace lockstep {

HWY_EXPORT(ReduceAny);
HWY_EXPORT(ReducePremultipliedAny);

void Reduce(absl::Span<const void* const> inputs, ReduceOp op, const Buffer& out) {
  HWY_DYNAMIC_DISPATCH(ReduceAny)(inputs.data(), inputs.size(), op, out);
}

void ReducePremultiplied(absl::Span<const void* const> inputs, absl::Span<const double> factors, const Buffer& out) {
  HWY_DYNAMIC_DISPATCH(ReducePremultipliedAny)(inputs.data(), factors.data(), inputs.size(), out);
}

void Scale(const ConstBuffer& in, double factor, const Buffer& out) {
  HWY_DYNAMIC_DISPATCH(ReducePremultipliedAny)(&in.data, &factor, 1, out);
}

}  // namespace lockstep
#endif  // HWY_ONCE
