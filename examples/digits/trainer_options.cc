#include "examples/digits/trainer_options.h"

#include <cmath>

#include "absl/flags/flag.h"
#include "absl/status/status_macros.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

ABSL_FLAG(int, epochs, 30, "how often training goes over the data");
ABSL_FLAG(absl::optional<int>, batch_size, absl::nullopt,
          "samples that each rank takes a step; 16 unless --global_batch_size is given");
ABSL_FLAG(absl::optional<int>, global_batch_size, absl::nullopt,
          "samples that all ranks together take a step, instead of --batch_size: the same training whatever their number");
ABSL_FLAG(std::string, optimizer, "adam", "adam or sgd");
ABSL_FLAG(absl::optional<double>, lr, absl::nullopt, "learning rate; 0.1 for sgd, 0.002 for adam unless given");
ABSL_FLAG(absl::optional<double>, momentum, absl::nullopt, "of sgd: 0.9 unless given");
ABSL_FLAG(std::string, dtype, "float32", "what is computed with: float32 or float64");
ABSL_FLAG(uint64_t, seed, 1, "of the initial parameters; --ddp_sampler_seed is that of the data's order");
ABSL_FLAG(std::string, checkpoint_dir, "", "saves each epoch there, and goes on from the latest that is there");
ABSL_FLAG(bool, check_replicas, false, "compares the parameters of all ranks, bit for bit, after each step");
ABSL_FLAG(std::string, dump_parameters, "", "file into which rank 0 writes the final parameters (safetensors)");

namespace digits {
namespace {

template <typename T>
absl::Status Refuse(absl::string_view flag, const T& value, absl::string_view allowed) {
  return absl::InvalidArgumentError(absl::StrCat("--", flag, "=", value, ": ", allowed));
}

absl::Status CheckPositive(absl::string_view flag, absl::optional<int> value) {
  if (!value.has_value() || *value > 0) return absl::OkStatus();
  return Refuse(flag, *value, "must be at least 1");
}

absl::StatusOr<bool> UsesDouble(const std::string& dtype) {
  if (dtype == "float32" || dtype == "float64") return dtype == "float64";
  return Refuse("dtype", dtype, "must be float32 or float64");
}

absl::StatusOr<OptimizerKind> ParseOptimizer(const std::string& name) {
  if (name == "sgd") return OptimizerKind::kSgd;
  if (name == "adam") return OptimizerKind::kAdam;
  return Refuse("optimizer", name, "must be adam or sgd");
}

absl::Status CheckBatchSizes(const TrainerOptions& options) {
  ABSL_RETURN_IF_ERROR(CheckPositive("batch_size", options.batch_size));
  ABSL_RETURN_IF_ERROR(CheckPositive("global_batch_size", options.global_batch_size));
  if (!options.batch_size.has_value() || !options.global_batch_size.has_value()) return absl::OkStatus();
  return Refuse("batch_size", *options.batch_size,
                absl::StrCat("contradicts --global_batch_size=", *options.global_batch_size, "; give one of them"));
}

absl::Status CheckRates(const TrainerOptions& options) {
  if (!(options.learning_rate > 0 && std::isfinite(options.learning_rate))) {
    return Refuse("lr", options.learning_rate, "must be greater than 0");
  }
  if (!(options.momentum >= 0 && options.momentum < 1)) return Refuse("momentum", options.momentum, "must be in [0, 1)");
  if (options.optimizer == OptimizerKind::kAdam && absl::GetFlag(FLAGS_momentum).has_value()) {
    return Refuse("momentum", options.momentum, "belongs to --optimizer=sgd");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<TrainerOptions> TrainerOptionsFromFlags() {
  TrainerOptions options;
  ABSL_ASSIGN_OR_RETURN(options.use_double, UsesDouble(absl::GetFlag(FLAGS_dtype)));
  ABSL_ASSIGN_OR_RETURN(options.optimizer, ParseOptimizer(absl::GetFlag(FLAGS_optimizer)));
  options.epochs = absl::GetFlag(FLAGS_epochs);
  options.batch_size = absl::GetFlag(FLAGS_batch_size);
  options.global_batch_size = absl::GetFlag(FLAGS_global_batch_size);
  options.learning_rate = absl::GetFlag(FLAGS_lr).value_or(options.optimizer == OptimizerKind::kSgd ? 0.1 : 0.002);
  options.momentum = absl::GetFlag(FLAGS_momentum).value_or(0.9);
  options.seed = absl::GetFlag(FLAGS_seed);
  options.checkpoint_dir = absl::GetFlag(FLAGS_checkpoint_dir);
  options.check_replicas = absl::GetFlag(FLAGS_check_replicas);
  options.dump_parameters = absl::GetFlag(FLAGS_dump_parameters);
  ABSL_RETURN_IF_ERROR(CheckPositive("epochs", options.epochs));
  ABSL_RETURN_IF_ERROR(CheckBatchSizes(options));
  ABSL_RETURN_IF_ERROR(CheckRates(options));
  return options;
}

absl::StatusOr<int> BatchSizeOfARank(const TrainerOptions& options, int world_size) {
  if (!options.global_batch_size.has_value()) return options.batch_size.value_or(16);
  const int global = *options.global_batch_size;
  if (global % world_size == 0) return global / world_size;
  return Refuse("global_batch_size", global, absl::StrCat("must be a multiple of the ", world_size, " ranks"));
}

}  // namespace digits
