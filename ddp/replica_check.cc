#include "ddp/replica_check.h"

#include <cstring>

#include "absl/status/status_macros.h"
#include "absl/strings/str_cat.h"

namespace lockstep {
namespace {

uint64_t Mix(uint64_t hash, uint64_t word) {
  hash = (hash ^ word) * 0x9e3779b97f4a7c15;
  return hash ^ (hash >> 29);
}

// Every bit of every byte counts: each step is a bijection of the state for a given word, and of the word for a given state.
uint64_t DigestBytes(const char* data, int64_t bytes) {
  uint64_t hash = static_cast<uint64_t>(bytes);
  for (; bytes >= 8; data += 8, bytes -= 8) {
    uint64_t word;
    std::memcpy(&word, data, 8);
    hash = Mix(hash, word);
  }
  uint64_t rest = 0;
  if (bytes > 0) std::memcpy(&rest, data, static_cast<size_t>(bytes));
  return Mix(hash, rest);
}

}  // namespace

std::vector<uint64_t> DigestParameters(Model& model) {
  std::vector<uint64_t> digests;
  for (size_t i = 0; i < model.parameters().size(); ++i) {
    const Buffer value = model.ParameterValue(static_cast<int>(i));
    digests.push_back(DigestBytes(static_cast<const char*>(value.data), value.bytes()));
  }
  return digests;
}

absl::Status CheckReplicas(ProcessGroup& group, Model& model) {
  const std::vector<uint64_t> mine = DigestParameters(model);
  std::vector<uint64_t> all(mine.size() * static_cast<size_t>(group.size()));
  CallOptions call;
  call.name = "replica check";
  ABSL_RETURN_IF_ERROR(group.AllGather(MakeConstBuffer<uint64_t>(mine), MakeBuffer(absl::MakeSpan(all)), call));
  for (size_t parameter = 0; parameter < mine.size(); ++parameter) {
    for (size_t rank = 1; rank < static_cast<size_t>(group.size()); ++rank) {
      if (all[rank * mine.size() + parameter] == all[parameter]) continue;
      return absl::DataLossError(absl::StrCat("the replicas have drifted apart: parameter \"",
                                              model.parameters()[parameter].name, "\" of rank ", rank,
                                              " differs from rank 0's. Some rank took a step of its own, "
                                              "changed a parameter outside of training, or has another optimizer."));
    }
  }
  return absl::OkStatus();
}

}  // namespace lockstep
