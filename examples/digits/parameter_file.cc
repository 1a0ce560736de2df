#include "examples/digits/parameter_file.h"

#include <cerrno>
#include <fstream>
#include <map>

#include "absl/status/status_macros.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "ddp/checkpoint/safetensors.h"

namespace digits {

absl::Status WriteParameters(lockstep::Model& model, const std::string& path) {
  lockstep::SafetensorsHeader header;
  std::map<std::string, lockstep::Buffer> values;
  for (const lockstep::ParameterInfo& info : model.parameters()) {
    const lockstep::Buffer value = model.ParameterValue(static_cast<int>(values.size()));
    values[info.name] = value;
    header.tensors.push_back({info.name, info.dtype, info.shape, 0, value.bytes()});
  }
  ABSL_ASSIGN_OR_RETURN(const std::string head, lockstep::BuildSafetensorsHead(header));
  std::ofstream file(path, std::ios::binary);
  file << head;
  for (const lockstep::SafetensorsEntry& entry : header.tensors) {  // in the order of the format now
    const lockstep::Buffer& value = values[entry.name];
    file.write(static_cast<const char*>(value.data), value.bytes());
  }
  file.close();
  if (file.fail()) return absl::ErrnoToStatus(errno, absl::StrCat("cannot write the parameters to ", path));
  return absl::OkStatus();
}

}  // namespace digits
