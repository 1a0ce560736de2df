#include "ddp/digest.h"

#include <cstring>

namespace lockstep {
namespace {

uint64_t Mix(uint64_t hash, uint64_t word) {
  hash = (hash ^ word) * 0x9e3779b97f4a7c15;
  return hash ^ (hash >> 29);
}

}  // namespace

// Every bit of every byte counts: each step is a bijection of the state for a given word, and of the word for a given state.
uint64_t Digest(const void* data, int64_t bytes) {
  const char* next = static_cast<const char*>(data);
  uint64_t hash = static_cast<uint64_t>(bytes);
  for (; bytes >= 8; next += 8, bytes -= 8) {
    uint64_t word;
    std::memcpy(&word, next, 8);
    hash = Mix(hash, word);
  }
  uint64_t rest = 0;
  if (bytes > 0) std::memcpy(&rest, next, static_cast<size_t>(bytes));
  return Mix(hash, rest);
}

}  // namespace lockstep
