#include "transports/gloo/inquest.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "absl/types/optional.h"
#include "transports/gloo/call_record.h"
#include "transports/gloo/wire.pb.h"
#include "transports/host/operation_text.h"
#include "transports/host/standing.h"

namespace lockstep {
namespace {

using Records = std::vector<absl::optional<gloo_wire::End>>;  // by rank

std::string EndKey(int rank) { return absl::StrCat("end/", rank); }

// Whether `operation` waits for `rank`.
bool IsConcerned(const GlooMesh& mesh, const Operation& operation, int rank) {
  return rank != mesh.rank && (IsCollective(operation.kind) || operation.peer == kAnyRank || rank == operation.peer);
}

// What the ranks concerned have written, as far as they do within the grace.
Records ReadRecords(Store& store, const GlooMesh& mesh, const Operation& operation) {
  const absl::Time deadline = absl::Now() + kInquestGrace;
  Records records(static_cast<size_t>(mesh.size));
  for (int rank = 0; rank < mesh.size; ++rank) {
    if (!IsConcerned(mesh, operation, rank)) continue;
    const absl::StatusOr<std::string> bytes =
        store.Get(EndKey(rank), std::max(deadline - absl::Now(), absl::Milliseconds(5)));
    gloo_wire::End end;
    if (bytes.ok() && end.ParseFromString(*bytes)) records[static_cast<size_t>(rank)] = std::move(end);
  }
  return records;
}

std::string DescribeRanks(const GlooMesh& mesh, const std::vector<int>& ranks) {
  return absl::StrJoin(ranks, ", ", [&](std::string* out, int rank) { absl::StrAppend(out, mesh.DescribeRank(rank)); });
}

// The ranks concerned that wrote nothing.
std::vector<int> SilentRanks(const GlooMesh& mesh, const Records& records, const Operation& operation) {
  std::vector<int> silent;
  for (int rank = 0; rank < mesh.size; ++rank) {
    if (IsConcerned(mesh, operation, rank) && !records[static_cast<size_t>(rank)].has_value()) silent.push_back(rank);
  }
  return silent;
}

absl::StatusCode CodeOf(const gloo_wire::End& end) { return static_cast<absl::StatusCode>(end.code()); }

bool AnyDeadline(const Records& records) {
  return std::any_of(records.begin(), records.end(), [](const absl::optional<gloo_wire::End>& end) {
    return end.has_value() && CodeOf(*end) == absl::StatusCode::kDeadlineExceeded;
  });
}

std::string DescribeCall(const GlooMesh& mesh, const gloo_wire::End& end, int rank) {
  return end.has_call() ? DescribeOperation(OperationOf(end.call(), mesh.size), rank, mesh.size) : "nothing";
}

// FAILED_PRECONDITION if a peer ended in an operation that does not fit, else OK.
absl::Status CompareOperations(const GlooMesh& mesh, const Records& records, const Operation& operation,
                               int64_t collective) {
  const Standing own = {mesh.rank, operation, collective};
  for (int rank = 0; rank < mesh.size; ++rank) {
    const absl::optional<gloo_wire::End>& end = records[static_cast<size_t>(rank)];
    if (!end.has_value() || !end->has_call()) continue;
    const Standing theirs = {rank, OperationOf(end->call(), mesh.size), end->call().collective()};
    if (absl::Status status = CheckStandings(own, theirs, mesh.size); !status.ok()) return status;
  }
  return absl::OkStatus();
}

std::string DescribeWait(const GlooMesh& mesh, const Records& records, const Operation& operation) {
  const std::vector<int> silent = SilentRanks(mesh, records, operation);
  if (!silent.empty()) return absl::StrCat("for ", DescribeRanks(mesh, silent), ", which did not come");
  std::vector<std::string> elsewhere;
  for (int rank = 0; rank < mesh.size; ++rank) {
    const absl::optional<gloo_wire::End>& end = records[static_cast<size_t>(rank)];
    if (!end.has_value()) continue;
    elsewhere.push_back(absl::StrCat("rank ", rank, " in ", DescribeCall(mesh, *end, rank)));
  }
  return absl::StrCat("though all ranks wait (", absl::StrJoin(elsewhere, ", "),
                      "): the order of calls, the network or the timeout is wrong");
}

// Why peers closed their connections: the first that told a reason of its own.
absl::Status QuotePeers(const GlooMesh& mesh, const Records& records, const absl::Status& raw) {
  const absl::optional<gloo_wire::End>* quoted = nullptr;
  int who = -1;
  for (int rank = 0; rank < mesh.size; ++rank) {
    const absl::optional<gloo_wire::End>& end = records[static_cast<size_t>(rank)];
    if (!end.has_value()) continue;
    if (quoted != nullptr &&
        (CodeOf(**quoted) != absl::StatusCode::kUnavailable || CodeOf(*end) == absl::StatusCode::kUnavailable)) {
      continue;
    }
    quoted = &end;
    who = rank;
  }
  if (quoted == nullptr) return absl::UnavailableError(raw.message());
  return absl::UnavailableError(absl::StrCat(mesh.DescribeRank(who), " gave up: ", (*quoted)->message()));
}

// Nobody can tell who was first. But the rank that runs the store is in trouble, and its own error says which that is.
absl::Status WithoutStore(const GlooMesh& mesh, const std::string& what, const absl::Status& raw,
                          const absl::Status& recorded, const std::vector<int>& broken, absl::Duration timeout) {
  const std::string happened = absl::IsDeadlineExceeded(raw)
                                   ? absl::StrCat("waited ", absl::FormatDuration(timeout), " in vain")
                               : broken.empty() ? std::string(raw.message())
                                                : absl::StrCat("lost ", DescribeRanks(mesh, broken));
  return absl::Status(
      raw.code(), absl::StrCat(what, ": ", happened,
                               "; the store, which would tell the rank to blame, does not answer: ", recorded.message()));
}

}  // namespace

absl::Status RecordEnd(Store& store, const GlooMesh& mesh, const absl::Status& why, const Operation* operation,
                       int64_t collective) {
  gloo_wire::End end;
  end.set_code(static_cast<int>(why.code()));
  end.set_message(std::string(why.message()));
  if (operation != nullptr) *end.mutable_call() = RecordCall(*operation, collective, mesh.size);
  return store.Set(EndKey(mesh.rank), end.SerializeAsString());
}

absl::Status HoldInquest(Store& store, GlooMesh& mesh, const absl::Status& raw, const absl::Status& recorded,
                         const Operation& operation, int64_t collective, absl::Duration timeout) {
  const std::string what =
      absl::StrCat(mesh.DescribeRank(mesh.rank), ": ", DescribeOperation(operation, mesh.rank, mesh.size));
  const std::vector<int> broken = mesh.BrokenPeers();
  if (!recorded.ok()) return WithoutStore(mesh, what, raw, recorded, broken, timeout);
  const Records records = ReadRecords(store, mesh, operation);
  if (const absl::Status status = CompareOperations(mesh, records, operation, collective); !status.ok()) return status;
  if (absl::IsDeadlineExceeded(raw) || AnyDeadline(records)) {
    return absl::DeadlineExceededError(
        absl::StrCat(what, " waited ", absl::FormatDuration(timeout), " ", DescribeWait(mesh, records, operation)));
  }
  std::vector<int> gone;
  for (const int rank : SilentRanks(mesh, records, operation)) {
    if (std::count(broken.begin(), broken.end(), rank) > 0) gone.push_back(rank);
  }
  if (gone.empty()) {
    const absl::Status quoted = QuotePeers(mesh, records, raw);
    return absl::Status(quoted.code(), absl::StrCat(what, ": ", quoted.message()));
  }
  return absl::UnavailableError(absl::StrCat(what, ": lost ", DescribeRanks(mesh, gone),
                                             ": it has died, or closed its communicator; look at its own output"));
}

}  // namespace lockstep
