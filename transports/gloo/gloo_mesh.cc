#include "transports/gloo/gloo_mesh.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/status/status_macros.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "gloo/transport/context.h"
#include "gloo/transport/tcp/device.h"
#include "transports/gloo/call_gloo.h"
#include "transports/gloo/pair_socket.h"
#include "transports/gloo/wire.pb.h"
#include "transports/net/blocked_signals.h"
#include "transports/net/socket.h"
#include "transports/store/absent_ranks.h"

namespace lockstep {
namespace {

// Gloo waits five times its timeout for a connection (tcp::Pair::waitUntil).
constexpr int kGlooConnectFactor = 5;

// How long a peer's host may give no sign of life. Its kernel gives them, also while the process is stopped.
constexpr absl::Duration kPeerPatience = absl::Seconds(5);

std::string PeerKey(int rank) { return absl::StrCat("peer/", rank); }

// DEADLINE_EXCEEDED that names every rank which is not in the store.
absl::Status MissingRanks(Store& store, int size, absl::Duration waited) {
  ABSL_ASSIGN_OR_RETURN(const std::vector<int> missing, AbsentRanks(store, size, PeerKey));
  return absl::DeadlineExceededError(absl::StrCat("ranks ", absl::StrJoin(missing, ", "), " of ", size,
                                                  " did not come within ", absl::FormatDuration(waited),
                                                  ". Do they run, and with the same address and world size?"));
}

}  // namespace

absl::StatusOr<GlooDevice> MakeGlooDevice(const std::string& host) {
  // Asked first, since Gloo reads freed memory when it can bind none of a host's addresses.
  const absl::StatusOr<std::string> address = OwnAddressOf(host);
  absl::Status status = address.status();
  GlooDevice device;
  if (status.ok()) {
    gloo::transport::tcp::attr attributes;
    attributes.hostname = *address;
    const BlockedSignals blocked;  // in the thread that Gloo starts
    status = CallGloo([&] { device = gloo::transport::tcp::CreateDevice(attributes); });
  }
  if (status.ok()) return device;
  return absl::UnavailableError(absl::StrCat("gloo cannot listen on \"", host, "\": ", status.message(),
                                             ". Give an address of this machine that its peers can reach"));
}

absl::StatusOr<std::shared_ptr<GlooMesh>> GlooMesh::Connect(Store& store, GlooDevice device, int rank, int size,
                                                            absl::Time deadline) {
  const absl::Time start = absl::Now();
  ABSL_ASSIGN_OR_RETURN(const int64_t came, store.Add(absl::StrCat("came/", rank), 1));
  if (came != 1) {
    return absl::AlreadyExistsError(
        absl::StrCat("another process has come as rank ", rank, " of ", size, " before: each rank may come once"));
  }
  std::shared_ptr<GlooMesh> mesh(new GlooMesh(rank, size));
  std::vector<std::string> addresses;
  ABSL_RETURN_IF_ERROR(mesh->CreatePairs(std::move(device), deadline, addresses));
  gloo_wire::Peer own;
  own.set_size(size);
  own.set_host(HostName());
  own.set_pid(getpid());
  for (std::string& address : addresses) own.add_addresses(std::move(address));
  ABSL_RETURN_IF_ERROR(store.Set(PeerKey(rank), own.SerializeAsString()));
  for (int peer = 0; peer < size; ++peer) {
    absl::StatusOr<std::string> serialized = store.Get(PeerKey(peer), deadline - absl::Now());
    if (absl::IsDeadlineExceeded(serialized.status())) return MissingRanks(store, size, absl::Now() - start);
    ABSL_RETURN_IF_ERROR(serialized.status());
    ABSL_RETURN_IF_ERROR(mesh->ConnectTo(peer, *serialized));
  }
  return mesh;
}

absl::Status GlooMesh::CreatePairs(GlooDevice device, absl::Time deadline, std::vector<std::string>& addresses) {
  device_ = std::move(device);
  const std::chrono::milliseconds left = absl::ToChronoMilliseconds(deadline - absl::Now());
  const auto timeout = std::max(left / kGlooConnectFactor, std::chrono::milliseconds(1));
  setTimeout(timeout);
  return CallGloo([&] {
    const auto transport = device_->createContext(rank, size);
    transport->setTimeout(timeout);
    for (int peer = 0; peer < size; ++peer) {
      if (peer == rank) {
        addresses.emplace_back();
        continue;
      }
      const std::vector<char> address = transport->createPair(peer)->address().bytes();
      addresses.emplace_back(address.begin(), address.end());
    }
    interruptible_ = std::make_shared<InterruptibleContext>(transport);
    transportContext_ = interruptible_;
  });
}

absl::Status GlooMesh::ConnectTo(int peer, const std::string& serialized) {
  gloo_wire::Peer record;
  if (!record.ParseFromString(serialized)) {
    return absl::DataLossError(absl::StrCat("what the store holds for rank ", peer, " is no address"));
  }
  identities_[static_cast<size_t>(peer)] = {record.host(), record.pid()};
  if (record.size() != size || record.addresses_size() != size) {
    return absl::FailedPreconditionError(absl::StrCat("rank ", rank, " connects as one of ", size, ", ", DescribeRank(peer),
                                                      " as one of ", record.size(), ": all must agree"));
  }
  if (peer == rank) return absl::OkStatus();
  const std::string& address = record.addresses(rank);
  const absl::Status status = CallGloo([&] { getPair(peer)->connect(std::vector<char>(address.begin(), address.end())); });
  if (status.ok()) {
    AskForSignsOfLife(*getPair(peer), kPeerPatience);
    return status;
  }
  return absl::UnavailableError(absl::StrCat("rank ", rank, " cannot connect with ", DescribeRank(peer), ": ",
                                             status.message(), ". Is it alive, and reachable from here?"));
}

std::string GlooMesh::DescribeRank(int which) const {
  const Identity& identity = identities_[static_cast<size_t>(which)];
  return absl::StrCat("rank ", which, " (host ", identity.host, ", pid ", identity.pid, ")");
}

void GlooMesh::CloseAll() {
  {
    absl::MutexLock lock(&mu_);
    if (!broken_before_.has_value()) broken_before_ = FindBroken();
  }
  for (int peer = 0; peer < size; ++peer) {
    if (peer != rank) ShutDown(*getPair(peer));
  }
  interruptible_->Interrupt();
}

void GlooMesh::StartOperation() {
  retired_[1].clear();
  std::swap(retired_[0], retired_[1]);
}

std::vector<int> GlooMesh::BrokenPeers() {
  absl::MutexLock lock(&mu_);
  return broken_before_.has_value() ? *broken_before_ : FindBroken();
}

std::vector<int> GlooMesh::FindBroken() {
  std::vector<int> broken;
  for (int peer = 0; peer < size; ++peer) {
    if (peer == rank) continue;
    const PairState state = LookAt(*getPair(peer));
    if (state.has_ended || state.silent_for > kPeerPatience) broken.push_back(peer);
  }
  return broken;
}

int64_t GlooMesh::BytesMoved() {
  int64_t bytes = 0;
  for (int peer = 0; peer < size; ++peer) {
    if (peer != rank) bytes += LookAt(*getPair(peer)).bytes_moved;
  }
  return bytes;
}

}  // namespace lockstep
