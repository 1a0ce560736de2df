// What collectives move: a non-owning view of elements on a device.
//
//   std::vector<float> gradient(1024);
//   Buffer view = MakeBuffer(absl::MakeSpan(gradient));      // f32[1024] on the CPU
//
// A Buffer never owns: its memory must outlive every operation started on it, and must not be written (or, for an output,
// read) between the start of the operation and the end of its Work.
#ifndef LOCKSTEP_TRANSPORTS_BUFFER_H_
#define LOCKSTEP_TRANSPORTS_BUFFER_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "transports/float16.h"

namespace lockstep {

// Element types. The names that DTypeName gives are those of errors, traces and checkpoints: "f32", "bool".
enum class DType : uint8_t { kF16, kBF16, kF32, kF64, kI8, kU8, kI32, kI64, kU64, kBool };
inline constexpr int kNumDTypes = 10;

// Bytes an element takes: 1, 2, 4 or 8.
int64_t SizeOf(DType dtype);
absl::string_view DTypeName(DType dtype);

// Where memory lies. `index` counts the devices of a type; it is 0 on the CPU.
enum class DeviceType : uint8_t { kCpu, kCuda };
struct Device {
  DeviceType type = DeviceType::kCpu;
  int index = 0;
  friend bool operator==(Device a, Device b) { return a.type == b.type && a.index == b.index; }
  friend bool operator!=(Device a, Device b) { return !(a == b); }
};
std::string DeviceName(Device device);  // "cpu", "cuda:1"

// `count` elements of `dtype` from `data` on, contiguous; `data` is a multiple of an element's bytes. A count of 0 is a valid
// buffer; its data may be null.
struct Buffer {
  void* data = nullptr;
  int64_t count = 0;
  DType dtype = DType::kF32;
  Device device;

  int64_t bytes() const { return count * SizeOf(dtype); }
};

// The same, for memory that is only read.
struct ConstBuffer {
  const void* data = nullptr;
  int64_t count = 0;
  DType dtype = DType::kF32;
  Device device;

  ConstBuffer() = default;
  ConstBuffer(const void* data_in, int64_t count_in, DType dtype_in, Device device_in = {})
      : data(data_in), count(count_in), dtype(dtype_in), device(device_in) {}
  ConstBuffer(const Buffer& buffer)  // NOLINT(google-explicit-constructor): every buffer may be read
      : data(buffer.data), count(buffer.count), dtype(buffer.dtype), device(buffer.device) {}

  int64_t bytes() const { return count * SizeOf(dtype); }
};

// "f32[1024]", as errors and traces show a buffer.
std::string DescribeBuffer(const ConstBuffer& buffer);

// The DType of a C++ type; undefined for types that are none.
template <typename T>
inline constexpr DType kDTypeOf = T::no_dtype_for_this_type;
template <>
inline constexpr DType kDTypeOf<Float16> = DType::kF16;
template <>
inline constexpr DType kDTypeOf<BFloat16> = DType::kBF16;
template <>
inline constexpr DType kDTypeOf<float> = DType::kF32;
template <>
inline constexpr DType kDTypeOf<double> = DType::kF64;
template <>
inline constexpr DType kDTypeOf<int8_t> = DType::kI8;
template <>
inline constexpr DType kDTypeOf<uint8_t> = DType::kU8;
template <>
inline constexpr DType kDTypeOf<int32_t> = DType::kI32;
template <>
inline constexpr DType kDTypeOf<int64_t> = DType::kI64;
template <>
inline constexpr DType kDTypeOf<uint64_t> = DType::kU64;
template <>
inline constexpr DType kDTypeOf<bool> = DType::kBool;

template <typename T>
Buffer MakeBuffer(absl::Span<T> elements) {
  return Buffer{elements.data(), static_cast<int64_t>(elements.size()), kDTypeOf<T>, Device()};
}
template <typename T>
ConstBuffer MakeConstBuffer(absl::Span<const T> elements) {
  return ConstBuffer(elements.data(), static_cast<int64_t>(elements.size()), kDTypeOf<T>);
}

}  // namespace lockstep

#endif  // LOCKSTEP_TRANSPORTS_BUFFER_H_
