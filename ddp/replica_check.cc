#include "ddp/replica_check.h"

#include "absl/status/status_macros.h"
#include "absl/strings/str_cat.h"
#include "ddp/digest.h"

namespace lockstep {
std::vector<uint64_t> DigestParameters(Model& model) {
  std::vector<uint64_t> digests;
  for (size_t i = 0; i < model.parameters().size(); ++i) {
    const Buffer value = model.ParameterValue(static_cast<int>(i));
    digests.push_back(Digest(value.data, value.bytes()));
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
