// Saves and loads the state of a job, so that it goes on where it stopped, with as many ranks as there are then.
//
//   ABSL_ASSIGN_OR_RETURN(auto checkpoints, CheckpointManager::Create(group, {.directory = "/data/run7"}));
//   ModelState model_state(model);                                                             // ddp/model_state.h
//   const std::vector<NamedState> states = {{"model", &model_state}, {"optimizer", &optimizer}, {"sampler", &sampler}};
//   ABSL_ASSIGN_OR_RETURN(absl::optional<int64_t> last, checkpoints->LoadLatest(states));      // nullopt: starts afresh
//   for (int64_t epoch = sampler.epoch(); epoch < 10; ++epoch) {
//     ...
//     ABSL_RETURN_IF_ERROR(checkpoints->Save(epoch, states));
//   }
//
// The state is that of one replica: rank 0 writes it, and reads it for all, so that only rank 0 needs the folder. One file a
// checkpoint, in the safetensors format (docs/checkpoint_format.md).
//
// Guarantees: a checkpoint is whole or not there, whenever a process is killed or a disk is full; when Save has returned OK
// it survives a power cut; older ones are removed only then. LoadLatest changes all of the live state or nothing.
//
// All calls are collective: every rank makes them, between steps, with the same id and objects of the same names, shapes and
// dtypes; every rank returns the same status, in the same words. One thread at a time.
#ifndef LOCKSTEP_DDP_CHECKPOINT_CHECKPOINT_MANAGER_H_
#define LOCKSTEP_DDP_CHECKPOINT_CHECKPOINT_MANAGER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "ddp/checkpoint/named_state.h"
#include "ddp/process_group.h"
#include "transports/transport.h"

namespace lockstep {

class CheckpointDirectory;
class FileSystem;
class StateList;

struct CheckpointOptions {
  std::string directory;  // on rank 0; made if it is missing. One job at a time writes there.
  int keep = 3;           // the latest this many stay; 0: all
  // How long ranks wait for rank 0's disk; zero: the group's own timeout.
  absl::Duration timeout = absl::Minutes(30);
  FileSystem* file_system = nullptr;  // null: the kernel's; not owned
};

class CheckpointManager {
 public:
  // Collective. INVALID_ARGUMENT: an option; else why rank 0 cannot use the folder.
  static absl::StatusOr<std::unique_ptr<CheckpointManager>> Create(std::shared_ptr<ProcessGroup> group,
                                                                   const CheckpointOptions& options);
  ~CheckpointManager();

  // Saves as checkpoint `id`, an epoch or a step (at least 0). One of the same id is replaced.
  //   INVALID_ARGUMENT     a prefix, name or tensor that cannot be saved
  //   FAILED_PRECONDITION  ranks differ in what they save; or the folder holds a later checkpoint, which LoadLatest would
  //                        choose: load it first, or choose another folder
  //   RESOURCE_EXHAUSTED, PERMISSION_DENIED, NOT_FOUND, ...   what the disk said; earlier checkpoints are untouched
  absl::Status Save(int64_t id, const std::vector<NamedState>& states);

  // Loads the checkpoint with the highest id into `states` and returns the id; nullopt: there is none.
  //   DATA_LOSS            the file is damaged; to go on from the one before, move it away
  //   FAILED_PRECONDITION  a name, shape or dtype differs from the file's, or ranks differ from each other
  // Takes memory for one more copy of the state, on every rank, until it returns.
  absl::StatusOr<absl::optional<int64_t>> LoadLatest(const std::vector<NamedState>& states);

 private:
  CheckpointManager(std::shared_ptr<ProcessGroup> group, std::unique_ptr<Communicator> communicator,
                    const CheckpointOptions& options);

  bool IsWriter() const;
  absl::Status Share(const absl::Status& mine);
  absl::StatusOr<StateList> AgreeOnStates(const std::string& call, const std::vector<NamedState>& states);
  absl::Status Write(int64_t id, const StateList& states);
  void Prune();
  absl::StatusOr<std::string> ReadLatest(const StateList& states, char* staging);
  absl::Status Adopt(const StateList& states, const StateValues& values, char* staging);

  std::shared_ptr<ProcessGroup> group_;  // outlives communicator_
  std::unique_ptr<Communicator> communicator_;
  const CheckpointOptions options_;
  std::unique_ptr<CheckpointDirectory> directory_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_DDP_CHECKPOINT_CHECKPOINT_MANAGER_H_
