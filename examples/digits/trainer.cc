// Trains a network on the handwritten digits with as many processes as there are: alone, or started by a launcher.
//
//   bazel run //examples/digits:trainer                    # one process
//   ddprun --nproc_per_node=4 trainer --epochs=10          # four, which train as one
//
// Ends with one line on rank 0's stdout: test_accuracy=0.981 world_size=4 backend=gloo samples_per_s=51234 epochs=10
#include <algorithm>
#include <cstdint>
#include <iostream>
#include <memory>
#include <vector>

#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "absl/flags/usage_config.h"
#include "absl/status/status.h"
#include "absl/status/status_macros.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/types/span.h"
#include "ddp/checkpoint/checkpoint_manager.h"
#include "ddp/checkpoint/named_state.h"
#include "ddp/distributed_data_parallel.h"
#include "ddp/flags.h"
#include "ddp/init.h"
#include "ddp/model_state.h"
#include "ddp/replica_check.h"
#include "ddp/sampler/distributed_sampler.h"
#include "examples/data/digits.h"
#include "examples/digits/batch.h"
#include "examples/digits/digits_net.h"
#include "examples/digits/evaluation.h"
#include "examples/digits/parameter_file.h"
#include "examples/digits/trainer_options.h"
#include "examples/digits/training_report.h"
#include "examples/nn/optimizer.h"
#include "examples/nn/tape.h"

namespace digits {
namespace {

using lockstep::CheckpointManager;
using lockstep::DdpStep;
using lockstep::DistributedDataParallel;
using lockstep::DistributedSampler;
using lockstep::NamedState;
using lockstep::ProcessGroup;

// Computes the gradients of the mean loss over the batch, where the engine has bound them; returns the loss.
template <typename T>
double ForwardBackward(const DigitsNet<T>& net, nn::Tape<T>& tape, const Batch<T>& batch) {
  tape.Clear();
  const nn::Variable logits = net(tape, tape.Input(batch.images()));
  const nn::Variable loss = tape.SoftmaxCrossEntropy(logits, batch.labels());
  tape.Backward(loss);
  return tape.Value(loss)(0, 0);
}

template <typename T>
absl::Status Train(const std::shared_ptr<ProcessGroup>& group, const TrainerOptions& options) {
  ABSL_ASSIGN_OR_RETURN(const data::DigitsDataset digits, data::LoadDigits());
  ABSL_ASSIGN_OR_RETURN(const int batch_size, BatchSizeOfARank(options, group->size()));

  DigitsNet<T> net(options.seed);
  ABSL_ASSIGN_OR_RETURN(auto ddp, DistributedDataParallel::Create(group, net, lockstep::DdpOptionsFromFlags()));
  ABSL_ASSIGN_OR_RETURN(auto sampler, DistributedSampler::Create(digits.train.size(), group->size(), group->rank(),
                                                                 lockstep::SamplerOptionsFromFlags()));
  const std::unique_ptr<nn::Optimizer<T>> optimizer = MakeOptimizer<T>(options, net);

  // What a checkpoint holds. Training goes on from the latest there is.
  lockstep::ModelState model_state(net);
  const std::vector<NamedState> states = {{"model", &model_state}, {"optimizer", optimizer.get()}, {"sampler", &sampler}};
  std::unique_ptr<CheckpointManager> checkpoints;
  int64_t epochs_done = 0;
  if (!options.checkpoint_dir.empty()) {
    ABSL_ASSIGN_OR_RETURN(checkpoints, CheckpointManager::Create(group, {.directory = options.checkpoint_dir}));
    ABSL_ASSIGN_OR_RETURN(const auto saved, checkpoints->LoadLatest(states));
    epochs_done = saved.has_value() ? *saved + 1 : 0;
    if (epochs_done > 0 && group->rank() == 0) {
      std::cerr << "goes on after epoch " << epochs_done << ", saved in " << options.checkpoint_dir << std::endl;
    }
  }

  nn::Tape<T> tape(net);
  Batch<T> batch(digits.train);
  TrainingReport report(group->rank(), options.epochs);
  for (int64_t epoch = sampler.epoch(); epoch < options.epochs; ++epoch) {
    sampler.SetEpoch(epoch);
    report.BeginEpoch(epoch, sampler.num_batches(batch_size));
    for (const absl::Span<const int64_t> indices : sampler.Batches(batch_size)) {
      batch.Load(indices);
      DdpStep step = ddp.BeginStep({.weight = static_cast<double>(batch.size())});        // arms the engine
      const double loss = batch.size() > 0 ? ForwardBackward<T>(net, tape, batch) : 0.0;  // gradients are averaged meanwhile
      ABSL_RETURN_IF_ERROR(step.Finish());  // they are final, or the error names rank, parameter and reason
      optimizer->Step();
      report.EndStep(loss, batch.size());
      if (options.check_replicas) {
        ABSL_RETURN_IF_ERROR(lockstep::CheckReplicas(*group, net));
      }
    }
    report.EndEpoch();
    if (checkpoints != nullptr) {
      ABSL_RETURN_IF_ERROR(checkpoints->Save(epoch, states));
    }
  }
  report.Finish();

  ABSL_ASSIGN_OR_RETURN(const double accuracy, Accuracy(*group, net, tape, digits.test));
  ABSL_ASSIGN_OR_RETURN(const double samples_per_s, report.SamplesPerSecond(*group));
  if (group->rank() != 0) return absl::OkStatus();
  absl::PrintF("test_accuracy=%.3f world_size=%d backend=%s samples_per_s=%.0f epochs=%d\n", accuracy, group->size(),
               group->backend(), samples_per_s, std::max<int64_t>(options.epochs, epochs_done));
  return options.dump_parameters.empty() ? absl::OkStatus() : WriteParameters(net, options.dump_parameters);
}

absl::Status Run(absl::Span<char* const> positional) {
  if (!positional.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", positional[0], "\": the trainer takes flags only, as in --epochs=10"));
  }
  ABSL_ASSIGN_OR_RETURN(const TrainerOptions options, TrainerOptionsFromFlags());
  ABSL_ASSIGN_OR_RETURN(const auto group, lockstep::InitProcessGroup(lockstep::ProcessGroupOptionsFromFlags()));
  ABSL_RETURN_IF_ERROR(options.use_double ? Train<double>(group, options) : Train<float>(group, options));
  return group->Destroy();
}

}  // namespace
}  // namespace digits

int main(int argc, char** argv) {
  absl::FlagsUsageConfig help;
  help.contains_help_flags = [](absl::string_view file) {
    return absl::StrContains(file, "examples/digits/") || absl::StrContains(file, "ddp/flags.cc");
  };
  absl::SetFlagsUsageConfig(help);
  absl::SetProgramUsageMessage("trains a network on handwritten digits, alone or under a launcher (ddprun, torchrun)");
  const std::vector<char*> arguments = absl::ParseCommandLine(argc, argv);
  const absl::Status status = digits::Run(absl::MakeConstSpan(arguments).subspan(1));  // after the program's own name
  if (!status.ok()) std::cerr << "trainer: " << status << std::endl;
  return status.ok() ? 0 : 1;
}
