// The trainer's own command line. The engine's flags (--ddp_...) come from ddp/flags.h.
#ifndef LOCKSTEP_EXAMPLES_DIGITS_TRAINER_OPTIONS_H_
#define LOCKSTEP_EXAMPLES_DIGITS_TRAINER_OPTIONS_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "examples/nn/module.h"
#include "examples/nn/optimizer.h"

namespace digits {

enum class OptimizerKind { kSgd, kAdam };

struct TrainerOptions {
  bool use_double = false;
  int epochs = 0;
  absl::optional<int> batch_size;         // a rank's
  absl::optional<int> global_batch_size;  // of all ranks together
  OptimizerKind optimizer = OptimizerKind::kAdam;
  double learning_rate = 0;
  double momentum = 0;  // kSgd
  uint64_t seed = 0;
  std::string checkpoint_dir;   // empty: no checkpoints
  bool check_replicas = false;  // after each step
  std::string dump_parameters;  // a file; empty: none
};

// INVALID_ARGUMENT: one line that names the flag, its value and what is allowed.
absl::StatusOr<TrainerOptions> TrainerOptionsFromFlags();

// How many samples each of `world_size` ranks takes a step. INVALID_ARGUMENT: the global batch does not divide by the ranks.
absl::StatusOr<int> BatchSizeOfARank(const TrainerOptions& options, int world_size);

template <typename T>
std::unique_ptr<nn::Optimizer<T>> MakeOptimizer(const TrainerOptions& options, nn::Module<T>& module) {
  if (options.optimizer == OptimizerKind::kAdam) {
    return std::make_unique<nn::Adam<T>>(module, nn::AdamOptions{.learning_rate = options.learning_rate});
  }
  const nn::SgdOptions sgd{.learning_rate = options.learning_rate, .momentum = options.momentum};
  return std::make_unique<nn::Sgd<T>>(module, sgd);
}

}  // namespace digits

#endif  // LOCKSTEP_EXAMPLES_DIGITS_TRAINER_OPTIONS_H_
