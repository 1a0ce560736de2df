// How the TCP store's messages lie on the wire: a header of 8 bytes, then the message.
//
//   bytes 0-3   "LSs1": this protocol, version 1
//   bytes 4-7   the message's length, little-endian, at most kMaxFrameBytes
//
// Whoever reads another header talks to a stranger (a browser, a port scan, another version) and ends the connection.
#ifndef LOCKSTEP_TRANSPORTS_STORE_FRAME_H_
#define LOCKSTEP_TRANSPORTS_STORE_FRAME_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "transports/store/store.h"

namespace lockstep {

inline constexpr size_t kFrameHeaderBytes = 8;
// The largest key and value, and what encodes them.
inline constexpr int64_t kMaxFrameBytes = kMaxStoreKeyBytes + kMaxStoreValueBytes + 64;

// `message` with its header before it.
std::string EncodeFrame(absl::string_view message);

// The length of the message that follows `header` (kFrameHeaderBytes long). DATA_LOSS shows the header's bytes.
absl::StatusOr<size_t> DecodeFrameHeader(absl::string_view header);

}  // namespace lockstep

#endif  // LOCKSTEP_TRANSPORTS_STORE_FRAME_H_
