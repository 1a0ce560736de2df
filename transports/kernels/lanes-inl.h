// How elements in memory become lanes of a vector, and lanes become elements again.
//
// Included once for each set of instructions (see Highway's foreach_target.h), by reduce.cc alone.
#if defined(LOCKSTEP_TRANSPORTS_KERNELS_LANES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef LOCKSTEP_TRANSPORTS_KERNELS_LANES_INL_H_
#undef LOCKSTEP_TRANSPORTS_KERNELS_LANES_INL_H_
#else
#define LOCKSTEP_TRANSPORTS_KERNELS_LANES_INL_H_
#endif

#include <cstdint>

#include "hwy/highway.h"
#include "transports/float16.h"

HWY_BEFORE_NAMESPACE();
namespace lockstep::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Element<T>: the type T is computed in, and its way in and out. Load takes no alignment for granted.
template <typename T>
struct Element {
  using Lane = T;
  template <class D>
  static HWY_INLINE hn::Vec<D> Load(D d, const T* from) {
    return hn::LoadU(d, from);
  }
  template <class D>
  static HWY_INLINE void Store(D d, hn::Vec<D> v, T* to) {
    hn::StoreU(v, d, to);
  }
};

// Any byte but 0 is true, and true is 1.
template <>
struct Element<bool> {
  using Lane = uint8_t;
  template <class D>
  static HWY_INLINE hn::Vec<D> Load(D d, const bool* from) {
    return hn::Min(hn::LoadU(d, reinterpret_cast<const uint8_t*>(from)), hn::Set(d, uint8_t{1}));
  }
  template <class D>
  static HWY_INLINE void Store(D d, hn::Vec<D> v, bool* to) {
    hn::StoreU(v, d, reinterpret_cast<uint8_t*>(to));
  }
};

// 16 bits in memory, float32 in the lanes. Lane by lane the same as float16.h, whose tests hold them against each other:
// Highway's own conversions round otherwise on some processors.
template <class Derived, typename T>
struct Element16 {
  using Lane = float;
  template <class D>
  static HWY_INLINE hn::Vec<D> Load(D d, const T* from) {
    const hn::Rebind<uint16_t, D> half;
    return Derived::Widen(
        d, hn::PromoteTo(hn::RebindToUnsigned<D>(), hn::LoadU(half, reinterpret_cast<const uint16_t*>(from))));
  }
  template <class D>
  static HWY_INLINE void Store(D d, hn::Vec<D> v, T* to) {
    const hn::Rebind<uint16_t, D> half;
    const auto bits = hn::BitCast(hn::RebindToSigned<D>(), Derived::Narrow(d, v));  // not above 0xffff: nothing saturates
    hn::StoreU(hn::DemoteTo(half, bits), half, reinterpret_cast<uint16_t*>(to));
  }
};

template <>
struct Element<BFloat16> : Element16<Element<BFloat16>, BFloat16> {
  template <class D, class Bits = hn::Vec<hn::RebindToUnsigned<D>>>
  static HWY_INLINE hn::Vec<D> Widen(D d, Bits bits) {
    return hn::BitCast(d, hn::ShiftLeft<16>(bits));
  }
  template <class D>
  static HWY_INLINE auto Narrow(D, hn::Vec<D> v) {
    const hn::RebindToUnsigned<D> du;
    const auto bits = hn::BitCast(du, v);
    const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(du, 1));
    const auto rounded = hn::Add(hn::Add(bits, hn::Set(du, 0x7fff)), odd);
    const auto nan = hn::Or(bits, hn::Set(du, 0x400000));  // quiet, or the fraction's upper bits might all be 0
    return hn::ShiftRight<16>(hn::IfThenElse(hn::RebindMask(du, hn::IsNaN(v)), nan, rounded));
  }
};

template <>
struct Element<Float16> : Element16<Element<Float16>, Float16> {
  template <class D, class Bits = hn::Vec<hn::RebindToUnsigned<D>>>
  static HWY_INLINE hn::Vec<D> Widen(D d, Bits bits) {
    const hn::RebindToUnsigned<D> du;
    const auto sign = hn::ShiftLeft<16>(hn::And(bits, hn::Set(du, 0x8000)));
    const auto magnitude = hn::ShiftLeft<13>(hn::And(bits, hn::Set(du, 0x7fff)));  // fraction and exponent in their places
    const auto exponent = hn::And(magnitude, hn::Set(du, 0x0f800000));
    const auto normal = hn::Add(magnitude, hn::Set(du, (127 - 15) << 23));
    const auto infinite = hn::Add(normal, hn::Set(du, (128 - 16) << 23));  // infinity and NaN: all exponent bits set
    // A subnormal has no leading 1: given one of exponent -14, that 1 is subtracted again, exactly.
    const auto one = hn::Set(du, uint32_t{127 - 14} << 23);
    const auto subnormal =
        hn::BitCast(du, hn::Sub(hn::BitCast(d, hn::Add(normal, hn::Set(du, 1 << 23))), hn::BitCast(d, one)));
    const auto finite = hn::IfThenElse(hn::Eq(exponent, hn::Zero(du)), subnormal, normal);
    return hn::BitCast(d, hn::Or(sign, hn::IfThenElse(hn::Eq(exponent, hn::Set(du, 0x0f800000)), infinite, finite)));
  }
  template <class D>
  static HWY_INLINE auto Narrow(D d, hn::Vec<D> v) {
    const hn::RebindToUnsigned<D> du;
    const auto bits = hn::BitCast(du, v);
    const auto sign = hn::And(bits, hn::Set(du, 0x80000000));
    const auto magnitude = hn::Xor(bits, sign);
    // Beyond the largest by half a step or more. Comparisons of positive floats are those of their bits.
    const auto infinite =
        hn::IfThenElse(hn::Gt(magnitude, hn::Set(du, 0x7f800000)), hn::Set(du, 0x7e00), hn::Set(du, 0x7c00));
    // Subnormal: adding 0.5 makes the float's last bit worth one step of binary16, so that the addition rounds.
    const auto half = hn::Set(du, uint32_t{126} << 23);
    const auto subnormal = hn::Sub(hn::BitCast(du, hn::Add(hn::BitCast(d, magnitude), hn::BitCast(d, half))), half);
    const auto odd = hn::And(hn::ShiftRight<13>(magnitude), hn::Set(du, 1));
    const auto rebased = hn::Add(magnitude, hn::Set(du, 0xfff - (uint32_t{127 - 15} << 23)));
    const auto normal = hn::ShiftRight<13>(hn::Add(rebased, odd));
    const auto finite = hn::IfThenElse(hn::Lt(magnitude, hn::Set(du, (127 - 14) << 23)), subnormal, normal);
    const auto result = hn::IfThenElse(hn::Gt(magnitude, hn::Set(du, ((127 + 16) << 23) - 1)), infinite, finite);
    return hn::Or(result, hn::ShiftRight<16>(sign));
  }
};

// `v` as it would be in memory.
template <typename T, class D>
HWY_INLINE hn::Vec<D> Rounded(D d, hn::Vec<D> v) {
  if constexpr (sizeof(T) == sizeof(hn::TFromD<D>)) {
    return v;
  } else {
    return Element<T>::Widen(d, Element<T>::Narrow(d, v));
  }
}

}  // namespace lockstep::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // LOCKSTEP_TRANSPORTS_KERNELS_LANES_INL_H_
