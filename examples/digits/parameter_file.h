// A model's parameters as a safetensors file, which Python reads with safetensors.torch.load_file.
#ifndef LOCKSTEP_EXAMPLES_DIGITS_PARAMETER_FILE_H_
#define LOCKSTEP_EXAMPLES_DIGITS_PARAMETER_FILE_H_

#include <string>

#include "absl/status/status.h"
#include "ddp/model.h"

namespace digits {

// Writes every parameter under its name. Replaces a file that is there; not durable (a checkpoint is).
absl::Status WriteParameters(lockstep::Model& model, const std::string& path);

}  // namespace digits

#endif  // LOCKSTEP_EXAMPLES_DIGITS_PARAMETER_FILE_H_
