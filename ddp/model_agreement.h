// Making sure, before training starts, that all ranks train the same model from the same state.
#ifndef LOCKSTEP_DDP_MODEL_AGREEMENT_H_
#define LOCKSTEP_DDP_MODEL_AGREEMENT_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "ddp/model.h"
#include "transports/transport.h"

namespace lockstep {

// INVALID_ARGUMENT if the model itself cannot be trained: no parameter requires a gradient, a name is empty or occurs twice,
// a value's count is not its shape's product, a gradient's dtype is one that no reduction takes. Local.
absl::Status CheckModel(Model& model);

// One line for each thing that must be equal: first `options`, then every parameter and buffer in order.
std::vector<std::string> DescribeModel(const Model& model, absl::string_view options);

// Collective: every rank hands in its own description. OK if all are equal; else FAILED_PRECONDITION, the same text on every
// rank: the lowest rank that differs from rank 0, the first line they differ in, and what stands there on both. Costs one
// all-gather of two numbers where all agree.
absl::Status CheckAgreement(Communicator& communicator, const std::vector<std::string>& description);

// Collective: every rank's parameters and buffers become rank 0's, frozen ones too.
absl::Status BroadcastModel(Communicator& communicator, Model& model);

}  // namespace lockstep

#endif  // LOCKSTEP_DDP_MODEL_AGREEMENT_H_
