#include "transports/buffer.h"

#include "absl/strings/str_cat.h"

namespace lockstep {
namespace {

struct DTypeFacts {
  absl::string_view name;
  int64_t size;
};

// In the order of the enum.
constexpr DTypeFacts kFacts[kNumDTypes] = {{"f16", 2}, {"bf16", 2}, {"f32", 4}, {"f64", 8}, {"i8", 1},
                                           {"u8", 1},  {"i32", 4},  {"i64", 8}, {"u64", 8}, {"bool", 1}};

}  // namespace

int64_t SizeOf(DType dtype) { return kFacts[static_cast<int>(dtype)].size; }
absl::string_view DTypeName(DType dtype) { return kFacts[static_cast<int>(dtype)].name; }

std::string DeviceName(Device device) {
  return device.type == DeviceType::kCpu ? "cpu" : absl::StrCat("cuda:", device.index);
}

std::string DescribeBuffer(const ConstBuffer& buffer) {
  return absl::StrCat(DTypeName(buffer.dtype), "[", buffer.count, "]");
}

}  // namespace lockstep
