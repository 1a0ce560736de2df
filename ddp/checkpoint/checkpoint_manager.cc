// A load, on all ranks:
//   1. the ranks agree on what is to be loaded, by rank 0's description
//   2. rank 0 reads the file into memory of its own and checks all of it; every rank learns whether that went well
//   3. the others receive values and tensors into memory of their own
//   4. each rank exchanges its live tensors with that memory and sets the values; if that fails anywhere, all change back
#include "ddp/checkpoint/checkpoint_manager.h"

#include <map>
#include <utility>

#include "absl/log/log.h"
#include "absl/status/status_macros.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "ddp/checkpoint/checkpoint_directory.h"
#include "ddp/checkpoint/checkpoint_file.h"
#include "ddp/checkpoint/file_system.h"
#include "ddp/checkpoint/rank_agreement.h"
#include "ddp/checkpoint/safetensors.h"
#include "ddp/checkpoint/safetensors_parser.h"
#include "ddp/checkpoint/state_list.h"
#include "transports/string_collectives.h"

namespace lockstep {
namespace {

constexpr absl::string_view kIdKey = "lockstep.id";

absl::Status CheckOptions(const CheckpointOptions& options) {
  if (options.directory.empty()) return absl::InvalidArgumentError("the checkpoint directory is empty; name a folder");
  if (options.keep < 0) {
    return absl::InvalidArgumentError(absl::StrCat("keep is ", options.keep, "; it must be at least 0 (0: all)"));
  }
  return absl::OkStatus();
}

// The first line in which this rank's description differs from rank 0's.
absl::Status CompareDescriptions(const std::string& mine, const std::string& zero) {
  if (mine == zero) return absl::OkStatus();
  const std::vector<std::string> my_lines = absl::StrSplit(mine, '\n');
  const std::vector<std::string> lines = absl::StrSplit(zero, '\n');
  size_t i = 0;
  while (i < my_lines.size() && i < lines.size() && my_lines[i] == lines[i]) ++i;
  return absl::FailedPreconditionError(absl::StrCat(
      "ranks differ in what they save or load: rank 0 has ", i < lines.size() ? lines[i] : "nothing more", ", this rank ",
      i < my_lines.size() ? my_lines[i] : "nothing more", "; all ranks make the same call with the same objects"));
}

// What rank 0 tells the others of a file: its values and id, as the header of a safetensors file without tensors.
absl::StatusOr<std::string> EncodeRecord(int64_t id, const StateValues& values) {
  SafetensorsHeader header;
  header.metadata = values;
  header.metadata.emplace(kIdKey, absl::StrCat(id));
  ABSL_ASSIGN_OR_RETURN(const std::string head, BuildSafetensorsHead(header));
  return head.substr(8);
}

absl::StatusOr<int64_t> DecodeRecord(const std::string& record, StateValues& values) {
  ABSL_RETURN_IF_ERROR(ParseSafetensorsJson(record, values).status());
  int64_t id = -1;
  if (!absl::SimpleAtoi(values[std::string(kIdKey)], &id)) return absl::InternalError("rank 0 sent no checkpoint id");
  values.erase(std::string(kIdKey));
  return id;
}

}  // namespace

absl::StatusOr<std::unique_ptr<CheckpointManager>> CheckpointManager::Create(std::shared_ptr<ProcessGroup> group,
                                                                             const CheckpointOptions& options) {
  ABSL_ASSIGN_OR_RETURN(std::unique_ptr<Communicator> communicator, group->NewCommunicator());
  std::unique_ptr<CheckpointManager> manager(new CheckpointManager(std::move(group), std::move(communicator), options));
  absl::Status status = CheckOptions(options);
  if (status.ok() && manager->IsWriter()) status = manager->directory_->Prepare();
  ABSL_RETURN_IF_ERROR(manager->Share(status));
  return manager;
}

CheckpointManager::CheckpointManager(std::shared_ptr<ProcessGroup> group, std::unique_ptr<Communicator> communicator,
                                     const CheckpointOptions& options)
    : group_(std::move(group)),
      communicator_(std::move(communicator)),
      options_(options),
      directory_(std::make_unique<CheckpointDirectory>(
          options.directory, options.file_system == nullptr ? RealFileSystem() : *options.file_system)) {}

CheckpointManager::~CheckpointManager() = default;

bool CheckpointManager::IsWriter() const { return communicator_->rank() == 0; }

// Where one rank fails, all fail, in its words.
absl::Status CheckpointManager::Share(const absl::Status& mine) {
  absl::Status named = mine;
  if (!mine.ok()) {
    named = absl::Status(mine.code(), absl::StrCat("checkpoint: rank ", communicator_->rank(), " (host ",
                                                   group_->info().host, "): ", mine.message()));
  }
  return ShareStatus(*communicator_, named, options_.timeout);
}

absl::StatusOr<StateList> CheckpointManager::AgreeOnStates(const std::string& call, const std::vector<NamedState>& states) {
  absl::StatusOr<StateList> list = StateList::Create(states);
  ABSL_RETURN_IF_ERROR(Share(list.status()));
  const std::string mine = absl::StrCat(call, "\n", absl::StrJoin(list->Describe(), "\n"));
  ABSL_ASSIGN_OR_RETURN(const std::string zero, BroadcastString(*communicator_, mine, 0, {.name = "checkpoint text"}));
  ABSL_RETURN_IF_ERROR(Share(CompareDescriptions(mine, zero)));
  return list;
}

absl::Status CheckpointManager::Save(int64_t id, const std::vector<NamedState>& states) {
  ABSL_ASSIGN_OR_RETURN(const StateList list, AgreeOnStates(absl::StrCat("Save of checkpoint ", id), states));
  ABSL_RETURN_IF_ERROR(Share(IsWriter() ? Write(id, list) : absl::OkStatus()));
  if (IsWriter()) Prune();
  return absl::OkStatus();
}

absl::Status CheckpointManager::Write(int64_t id, const StateList& states) {
  if (id < 0) return absl::InvalidArgumentError(absl::StrCat("checkpoint id ", id, " must be at least 0"));
  ABSL_ASSIGN_OR_RETURN(const std::vector<int64_t> ids, directory_->List());
  if (!ids.empty() && ids.back() > id) {
    return absl::FailedPreconditionError(absl::StrCat("checkpoint ", id, " would be older than ",
                                                      directory_->PathOf(ids.back()),
                                                      "; load that first, or save to another directory"));
  }
  FileSystem& files = options_.file_system == nullptr ? RealFileSystem() : *options_.file_system;
  return WriteCheckpointFile(files, directory_->PathOf(id), states.tensors(), states.values());
}

// The new checkpoint stands; one too many of the old ones costs room only.
void CheckpointManager::Prune() {
  if (options_.keep == 0) return;
  const absl::Status status = directory_->Prune(options_.keep);
  if (!status.ok()) LOG(WARNING) << "checkpoint: an old one stays: " << status.message();
}

absl::StatusOr<absl::optional<int64_t>> CheckpointManager::LoadLatest(const std::vector<NamedState>& states) {
  ABSL_ASSIGN_OR_RETURN(const StateList list, AgreeOnStates("LoadLatest", states));
  const std::unique_ptr<char[]> staging(new char[static_cast<size_t>(list.bytes())]);
  absl::StatusOr<std::string> read;
  if (IsWriter()) {
    read = ReadLatest(list, staging.get());
  } else {
    read = "";
  }
  ABSL_RETURN_IF_ERROR(Share(read.status()));
  ABSL_ASSIGN_OR_RETURN(const std::string record, BroadcastString(*communicator_, *read, 0, {.name = "checkpoint text"}));
  if (record.empty()) return absl::optional<int64_t>();
  ABSL_RETURN_IF_ERROR(ShareBytes(*communicator_, staging.get(), list.bytes()));
  StateValues values;
  const absl::StatusOr<int64_t> id = DecodeRecord(record, values);
  ABSL_RETURN_IF_ERROR(Share(id.status()));
  ABSL_RETURN_IF_ERROR(Adopt(list, values, staging.get()));
  return absl::optional<int64_t>(*id);
}

// The record of the latest checkpoint, whose tensors go to `staging`; empty: there is none.
absl::StatusOr<std::string> CheckpointManager::ReadLatest(const StateList& states, char* staging) {
  ABSL_ASSIGN_OR_RETURN(const std::vector<int64_t> ids, directory_->List());
  if (ids.empty()) return "";
  ABSL_ASSIGN_OR_RETURN(CheckpointFile file, CheckpointFile::Open(directory_->PathOf(ids.back())));
  ABSL_RETURN_IF_ERROR(file.CheckHolds(states.tensors()));
  std::map<absl::string_view, char*> places;
  for (const StateTensor& tensor : states.tensors()) {
    places[tensor.name] = staging;
    staging += tensor.data.bytes();
  }
  ABSL_RETURN_IF_ERROR(file.Read([&](const SafetensorsEntry& entry) { return places[entry.name]; }));
  return EncodeRecord(ids.back(), file.values());
}

absl::Status CheckpointManager::Adopt(const StateList& states, const StateValues& values, char* staging) {
  const StateValues previous = states.values();
  states.SwapTensors(staging);
  const absl::Status mine = states.SetValues(values);
  const absl::Status all = Share(mine);
  if (all.ok()) return all;
  states.SwapTensors(staging);
  if (!mine.ok()) return all;  // it has changed nothing
  ABSL_RETURN_IF_ERROR(states.RestoreValues(previous));
  return all;
}

}  // namespace lockstep
