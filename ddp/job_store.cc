#include "ddp/job_store.h"

#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "absl/status/status_macros.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "transports/store/absent_ranks.h"
#include "transports/store/tcp_store.h"
#include "transports/store/tcp_store_server.h"

namespace lockstep {
namespace {

constexpr absl::string_view kWelcome = "join/welcome";

// Once rank 0 has refused, how long it keeps the store for those who have not read why.
constexpr absl::Duration kFarewell = absl::Seconds(1);

std::string MemberKey(int rank) { return absl::StrCat("join/member/", rank); }

// Keeps what rank 0's store lives on.
struct Hosted {
  std::unique_ptr<TcpStoreServer> server;  // null on the other ranks
  std::unique_ptr<TcpStore> store;         // goes first
};

// What each rank writes of itself: "<world size> <pid> <host>".
std::string Member(const RankInfo& info) { return absl::StrCat(info.world_size, " ", getpid(), " ", info.host); }

std::string DescribeMember(int rank, absl::string_view member) {
  const std::vector<absl::string_view> words = absl::StrSplit(member, absl::MaxSplits(' ', 2));
  return words.size() == 3 ? absl::StrCat("rank ", rank, " (host ", words[2], ", pid ", words[1], ")")
                           : absl::StrCat("rank ", rank);
}

// -1 if `member` is none.
int WorldSizeOf(absl::string_view member) {
  int size = -1;
  const std::vector<absl::string_view> words = absl::StrSplit(member, absl::MaxSplits(' ', 1));
  return absl::SimpleAtoi(words[0], &size) ? size : -1;
}

absl::Status SizesDiffer(int size, absl::string_view who, int other_size) {
  return absl::FailedPreconditionError(absl::StrCat("rank 0 counts ", size, " ranks, ", who, " ", other_size,
                                                    "; all must be started with the same world size"));
}

absl::Status MissingRanks(Store& store, const RankInfo& info, absl::Duration waited) {
  ABSL_ASSIGN_OR_RETURN(const std::vector<int> missing, AbsentRanks(store, info.world_size, MemberKey));
  return absl::DeadlineExceededError(absl::StrCat("of ", info.world_size, " ranks, these did not come within ",
                                                  absl::FormatDuration(waited), ": ", absl::StrJoin(missing, ", ")));
}

// On rank 0: OK when all have come and count alike.
absl::Status CheckMembers(Store& store, const RankInfo& info, absl::Time deadline) {
  const absl::Time start = absl::Now();
  for (int rank = 1; rank < info.world_size; ++rank) {
    const absl::StatusOr<std::string> member = store.Get(MemberKey(rank), deadline - absl::Now());
    if (absl::IsDeadlineExceeded(member.status())) return MissingRanks(store, info, absl::Now() - start);
    ABSL_RETURN_IF_ERROR(member.status());
    const int size = WorldSizeOf(*member);
    if (size != info.world_size) return SizesDiffer(info.world_size, DescribeMember(rank, *member), size);
  }
  return absl::OkStatus();
}

// The welcome: rank 0's world size, its verdict's code and text.
std::string Welcome(int world_size, const absl::Status& verdict) {
  return absl::StrCat(world_size, " ", static_cast<int>(verdict.code()), " ", verdict.message());
}

absl::Status ReadWelcome(absl::string_view welcome, const RankInfo& info) {
  const std::vector<absl::string_view> words = absl::StrSplit(welcome, absl::MaxSplits(' ', 2));
  int size = 0, code = 0;
  if (words.size() != 3 || !absl::SimpleAtoi(words[0], &size) || !absl::SimpleAtoi(words[1], &code)) {
    return absl::DataLossError("what rank 0 wrote into the store cannot be read: is it another version of Lockstep?");
  }
  if (code != 0) return absl::Status(static_cast<absl::StatusCode>(code), words[2]);
  if (size != info.world_size) return SizesDiffer(size, absl::StrCat("rank ", info.rank), info.world_size);
  return absl::OkStatus();
}

// Rank 0 decides for all and tells them.
absl::Status WelcomeAll(Store& store, const RankInfo& info, absl::Time deadline) {
  const absl::Status verdict = CheckMembers(store, info, deadline);
  ABSL_RETURN_IF_ERROR(store.Set(kWelcome, Welcome(info.world_size, verdict)));
  if (verdict.ok()) return verdict;
  // Each rank says that it knows, so that the reason reaches all that are there before the store goes.
  const absl::Time farewell = absl::Now() + kFarewell;
  for (int rank = 1; rank < info.world_size; ++rank) {
    const absl::StatusOr<bool> there = store.Contains(MemberKey(rank));
    if (!there.ok() || !*there) continue;
    store.Get(absl::StrCat("join/knows/", rank), std::max(farewell - absl::Now(), absl::ZeroDuration())).IgnoreError();
  }
  return verdict;
}

absl::Status BeWelcomed(Store& store, const RankInfo& info, absl::Time deadline) {
  // A little later than rank 0's own deadline, which names those that are missing.
  absl::StatusOr<std::string> welcome = store.Get(kWelcome, deadline + kFarewell - absl::Now());
  if (absl::IsDeadlineExceeded(welcome.status())) {
    return absl::DeadlineExceededError("rank 0 runs its store but has not welcomed all ranks in time: is it stopped?");
  }
  ABSL_RETURN_IF_ERROR(welcome.status());
  store.Set(absl::StrCat("join/knows/", info.rank), "").IgnoreError();  // rank 0 may be gone by now: nothing is lost
  return ReadWelcome(*welcome, info);
}

absl::Status Join(Store& store, const RankInfo& info, absl::Time deadline) {
  ABSL_ASSIGN_OR_RETURN(const int64_t came, store.Add(absl::StrCat("join/came/", info.rank), 1));
  if (came != 1) {
    const absl::StatusOr<std::string> holder = store.Get(MemberKey(info.rank), kFarewell);
    return absl::AlreadyExistsError(absl::StrCat("rank ", info.rank, " is taken by ",
                                                 holder.ok() ? DescribeMember(info.rank, *holder) : "another process",
                                                 "; each process needs a rank of its own"));
  }
  ABSL_RETURN_IF_ERROR(store.Set(MemberKey(info.rank), Member(info)));
  return info.rank == 0 ? WelcomeAll(store, info, deadline) : BeWelcomed(store, info, deadline);
}

}  // namespace

absl::StatusOr<std::shared_ptr<Store>> MeetInStore(const Endpoint& endpoint, const RankInfo& info, absl::Time deadline) {
  auto hosted = std::make_shared<Hosted>();
  if (info.rank == 0) {
    ABSL_ASSIGN_OR_RETURN(hosted->server, TcpStoreServer::Start(endpoint));
  }
  ABSL_ASSIGN_OR_RETURN(hosted->store, TcpStore::Connect(endpoint, deadline - absl::Now()));
  ABSL_RETURN_IF_ERROR(Join(*hosted->store, info, deadline));
  Store* const store = hosted->store.get();
  return std::shared_ptr<Store>(hosted, store);
}

}  // namespace lockstep
