#include "ddp/checkpoint/checkpoint_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <utility>

#include "absl/status/status_macros.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "ddp/checkpoint/durable_file.h"

namespace lockstep {
namespace {

constexpr absl::string_view kVersionKey = "lockstep.checkpoint";
constexpr absl::string_view kVersion = "1";
constexpr absl::string_view kChecksumKey = "lockstep.crc32";
// Where the checksum's digits stand in the header; no name can contain this text, since its quotes would be escaped there.
constexpr absl::string_view kChecksumText = "\"lockstep.crc32\":\"";
constexpr absl::string_view kNoChecksum = "00000000";
// transformers, among others, refuses a safetensors file that does not say this.
constexpr absl::string_view kFormatKey = "format";
constexpr absl::string_view kFormat = "pt";

uint32_t UpdateChecksum(uint32_t checksum, absl::string_view data) {
  return static_cast<uint32_t>(crc32_z(checksum, reinterpret_cast<const Bytef*>(data.data()), data.size()));
}

std::string ChecksumDigits(uint32_t checksum) { return absl::StrCat(absl::Hex(checksum, absl::kZeroPad8)); }

absl::string_view BytesOf(const StateTensor& tensor) {
  return absl::string_view(static_cast<const char*>(tensor.data.data), static_cast<size_t>(tensor.data.bytes()));
}

std::string Describe(DType dtype, const std::vector<int64_t>& shape) {
  return absl::StrCat(DTypeName(dtype), ShapeText(shape));
}

// The pieces of the file in its order: head, then data. The checksum is that of the file with zeros in its place.
std::vector<absl::string_view> Seal(std::string& head, const SafetensorsHeader& header,
                                    absl::Span<const StateTensor> tensors) {
  std::map<absl::string_view, absl::string_view> data;
  for (const StateTensor& tensor : tensors) data[tensor.name] = BytesOf(tensor);
  std::vector<absl::string_view> pieces = {head};
  for (const SafetensorsEntry& entry : header.tensors) pieces.push_back(data[entry.name]);
  uint32_t checksum = 0;
  for (const absl::string_view piece : pieces) checksum = UpdateChecksum(checksum, piece);
  head.replace(absl::string_view(head).find(kChecksumText) + kChecksumText.size(), kNoChecksum.size(),
               ChecksumDigits(checksum));
  return pieces;
}

}  // namespace

absl::Status WriteCheckpointFile(FileSystem& files, const std::string& path, absl::Span<const StateTensor> tensors,
                                 const std::map<std::string, std::string>& values) {
  SafetensorsHeader header;
  for (const StateTensor& tensor : tensors) header.tensors.push_back({tensor.name, tensor.data.dtype, tensor.shape});
  header.metadata = values;
  header.metadata.emplace(kFormatKey, kFormat);
  header.metadata.emplace(kVersionKey, kVersion);
  header.metadata.emplace(kChecksumKey, kNoChecksum);
  ABSL_ASSIGN_OR_RETURN(std::string head, BuildSafetensorsHead(header));
  const std::vector<absl::string_view> pieces = Seal(head, header, tensors);
  return WriteFileDurably(files, path, pieces);
}

absl::StatusOr<CheckpointFile> CheckpointFile::Open(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return absl::ErrnoToStatus(errno, absl::StrCat("open ", path));
  CheckpointFile file(path, fd);
  ABSL_RETURN_IF_ERROR(file.InFile(file.ReadHead()));
  ABSL_RETURN_IF_ERROR(file.InFile(file.TakeOwnValues()));
  return file;
}

CheckpointFile::CheckpointFile(CheckpointFile&& other) noexcept
    : path_(std::move(other.path_)),
      fd_(std::exchange(other.fd_, -1)),
      head_(std::move(other.head_)),
      header_(std::move(other.header_)),
      checksum_(other.checksum_) {}

CheckpointFile::~CheckpointFile() {
  if (fd_ >= 0) ::close(fd_);
}

absl::Status CheckpointFile::InFile(const absl::Status& status) const {
  return status.ok() ? status : absl::Status(status.code(), absl::StrCat(path_, ": ", status.message()));
}

absl::Status CheckpointFile::ReadAt(int64_t offset, char* data, int64_t bytes) const {
  while (bytes > 0) {
    const ssize_t got = ::pread(fd_, data, static_cast<size_t>(std::min<int64_t>(bytes, 64 << 20)), offset);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return absl::ErrnoToStatus(errno, "read");
    if (got == 0) return absl::DataLossError(absl::StrCat("it ended at byte ", offset, " while it was read"));
    data += got;
    offset += got;
    bytes -= got;
  }
  return absl::OkStatus();
}

absl::Status CheckpointFile::ReadHead() {
  struct stat status;
  if (::fstat(fd_, &status) != 0) return absl::ErrnoToStatus(errno, "stat");
  if (!S_ISREG(status.st_mode)) return absl::DataLossError("it is not a regular file");
  const int64_t size = status.st_size;
  head_.resize(static_cast<size_t>(std::min<int64_t>(size, 8)));
  ABSL_RETURN_IF_ERROR(ReadAt(0, &head_[0], static_cast<int64_t>(head_.size())));
  ABSL_ASSIGN_OR_RETURN(const int64_t length, ParseSafetensorsLength(head_, size));
  head_.resize(static_cast<size_t>(8 + length));
  ABSL_RETURN_IF_ERROR(ReadAt(8, &head_[8], length));
  ABSL_ASSIGN_OR_RETURN(header_, ParseSafetensorsHeader(absl::string_view(head_).substr(8), size - 8 - length));
  return absl::OkStatus();
}

absl::Status CheckpointFile::TakeOwnValues() {
  auto& values = header_.metadata;
  const std::string version = values[std::string(kVersionKey)];
  if (version.empty()) return absl::DataLossError("it is a safetensors file, but not a checkpoint written by lockstep");
  if (version != kVersion) {
    return absl::DataLossError(
        absl::StrCat("it has version ", QuotedName(version), " of the checkpoint format; this program reads ", kVersion));
  }
  const std::string digits = values[std::string(kChecksumKey)];
  const size_t at = head_.find(absl::StrCat(kChecksumText, digits, "\""));
  if (digits.size() != kNoChecksum.size() || at == std::string::npos || !absl::SimpleHexAtoi(digits, &checksum_)) {
    return absl::DataLossError(absl::StrCat("its checksum ", QuotedName(digits), " is not eight hexadecimal digits"));
  }
  head_.replace(at + kChecksumText.size(), kNoChecksum.size(), std::string(kNoChecksum));
  values.erase(std::string(kVersionKey));
  values.erase(std::string(kChecksumKey));
  values.erase(std::string(kFormatKey));
  return absl::OkStatus();
}

absl::Status CheckpointFile::CheckHolds(absl::Span<const StateTensor> expected) const {
  std::map<absl::string_view, const SafetensorsEntry*> present;
  for (const SafetensorsEntry& entry : tensors()) present[entry.name] = &entry;
  for (const StateTensor& tensor : expected) {
    const auto found = present.find(tensor.name);
    const std::string wanted = Describe(tensor.data.dtype, tensor.shape);
    if (found == present.end()) {
      return InFile(
          absl::FailedPreconditionError(absl::StrCat("tensor ", QuotedName(tensor.name), " is missing; expected ", wanted)));
    }
    const std::string has = Describe(found->second->dtype, found->second->shape);
    if (has != wanted) {
      return InFile(absl::FailedPreconditionError(
          absl::StrCat("tensor ", QuotedName(tensor.name), " is ", has, "; expected ", wanted)));
    }
    present.erase(found);
  }
  if (present.empty()) return absl::OkStatus();
  const SafetensorsEntry& extra = *present.begin()->second;
  return InFile(
      absl::FailedPreconditionError(absl::StrCat("tensor ", QuotedName(extra.name), " ", Describe(extra.dtype, extra.shape),
                                                 " is in the file, but not in what is to be loaded")));
}

absl::Status CheckpointFile::Read(absl::FunctionRef<char*(const SafetensorsEntry&)> destination) {
  uint32_t checksum = UpdateChecksum(0, head_);
  for (const SafetensorsEntry& entry : tensors()) {
    const int64_t bytes = entry.end - entry.begin;
    char* const data = destination(entry);
    ABSL_RETURN_IF_ERROR(InFile(ReadAt(static_cast<int64_t>(head_.size()) + entry.begin, data, bytes)));
    checksum = UpdateChecksum(checksum, absl::string_view(data, static_cast<size_t>(bytes)));
  }
  if (checksum == checksum_) return absl::OkStatus();
  return InFile(absl::DataLossError(absl::StrCat("its bytes have the checksum ", ChecksumDigits(checksum),
                                                 ", but it was written with ", ChecksumDigits(checksum_))));
}

}  // namespace lockstep
