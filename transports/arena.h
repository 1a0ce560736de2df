// Memory that a transport reduces in place, without copies: gradients are born in it.
#ifndef LOCKSTEP_TRANSPORTS_ARENA_H_
#define LOCKSTEP_TRANSPORTS_ARENA_H_

#include <cstdint>
#include <functional>
#include <utility>

#include "transports/buffer.h"

namespace lockstep {

// A range of bytes at equal offsets on every rank, made by Communicator::CreateArena and zero at first. Move-only; frees
// its memory when it goes, and must go before its communicator does. Any thread may use the memory.
class Arena {
 public:
  // Slices start at multiples of this, so that no two buckets share a cache line and vectors are aligned.
  static constexpr int64_t kAlignment = 128;

  Arena() = default;
  // For transports: takes over [data, data + bytes), which `release` frees.
  Arena(void* data, int64_t bytes, Device device, std::function<void()> release)
      : data_(data), bytes_(bytes), device_(device), release_(std::move(release)) {}
  Arena(Arena&& other) noexcept { *this = std::move(other); }
  Arena& operator=(Arena&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    std::swap(device_, other.device_);
    std::swap(release_, other.release_);
    return *this;
  }
  ~Arena() {
    if (release_) release_();
  }

  void* data() const { return data_; }
  int64_t bytes() const { return bytes_; }
  Device device() const { return device_; }

  // `count` elements from byte `offset` on. The range must lie within the arena.
  Buffer Slice(int64_t offset, int64_t count, DType dtype) const {
    return Buffer{static_cast<char*>(data_) + offset, count, dtype, device_};
  }

 private:
  void* data_ = nullptr;
  int64_t bytes_ = 0;
  Device device_;
  std::function<void()> release_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_TRANSPORTS_ARENA_H_
