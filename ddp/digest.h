// A 64-bit digest of bytes, by which ranks find out whether they hold the same. Guards against mistakes, not against attacks.
#ifndef LOCKSTEP_DDP_DIGEST_H_
#define LOCKSTEP_DDP_DIGEST_H_

#include <cstdint>

namespace lockstep {

// Two inputs of one length that differ in one 8-byte word always have different digests. Equal on machines of one byte order;
// `data` may be null where `bytes` is 0.
uint64_t Digest(const void* data, int64_t bytes);

}  // namespace lockstep

#endif  // LOCKSTEP_DDP_DIGEST_H_
