#include "transports/store/frame.h"

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace lockstep {
namespace {

constexpr absl::string_view kMagic = "LSs1";

}  // namespace

std::string EncodeFrame(absl::string_view message) {
  std::string frame;
  frame.reserve(kFrameHeaderBytes + message.size());
  frame.append(kMagic.data(), kMagic.size());
  for (int shift = 0; shift < 32; shift += 8) frame.push_back(static_cast<char>(message.size() >> shift));
  frame.append(message.data(), message.size());
  return frame;
}

absl::StatusOr<size_t> DecodeFrameHeader(absl::string_view header) {
  if (!absl::StartsWith(header, kMagic)) {
    return absl::DataLossError(absl::StrCat("\"", absl::CHexEscape(header), "\" begins no message of a Lockstep store"));
  }
  uint32_t length = 0;
  for (size_t i = 0; i < 4; ++i) length |= uint32_t{static_cast<uint8_t>(header[kMagic.size() + i])} << (8 * i);
  if (length > kMaxFrameBytes) {
    return absl::DataLossError(absl::StrCat("a message of ", length, " bytes; at most ", kMaxFrameBytes, " are allowed"));
  }
  return size_t{length};
}

}  // namespace lockstep
