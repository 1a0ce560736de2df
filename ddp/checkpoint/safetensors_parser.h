// The JSON of a safetensors header, word for word: types and names are checked, numbers are not. For safetensors.cc alone.
#ifndef LOCKSTEP_DDP_CHECKPOINT_SAFETENSORS_PARSER_H_
#define LOCKSTEP_DDP_CHECKPOINT_SAFETENSORS_PARSER_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace lockstep {

// A tensor as the header describes it.
struct SafetensorsText {
  std::string name;
  std::string dtype;
  std::vector<uint64_t> shape;
  uint64_t begin = 0;
  uint64_t end = 0;
};

// The tensors in the order of the text; fills `metadata`. DATA_LOSS: it is not one JSON object of exactly that form.
absl::StatusOr<std::vector<SafetensorsText>> ParseSafetensorsJson(absl::string_view header,
                                                                  std::map<std::string, std::string>& metadata);

}  // namespace lockstep

#endif  // LOCKSTEP_DDP_CHECKPOINT_SAFETENSORS_PARSER_H_
