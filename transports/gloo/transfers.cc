#include "transports/gloo/transfers.h"

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "absl/time/clock.h"

namespace lockstep {
namespace {

// Gloo adds it to the clock, which may not overflow.
constexpr absl::Duration kLongestWait = absl::Hours(24 * 365);

std::chrono::milliseconds TimeLeft(absl::Time deadline) {
  const absl::Duration left = std::min(deadline - absl::Now(), kLongestWait);
  return absl::ToChronoMilliseconds(std::max(left, absl::ZeroDuration()) + absl::Milliseconds(1));
}

}  // namespace

Transfers::Transfers(GlooMesh& mesh, const void* data, int64_t bytes)
    : mesh_(mesh), buffer_(mesh.createUnboundBuffer(const_cast<void*>(data), static_cast<size_t>(bytes))) {}

Transfers::~Transfers() {
  if (sends_ == 0 && recvs_ == 0) mesh_.Retire(std::move(buffer_));
}

void Transfers::Send(int to, uint64_t slot, int64_t offset, int64_t bytes) {
  buffer_->send(to, slot, static_cast<size_t>(offset), static_cast<size_t>(bytes));
  ++sends_;
}

void Transfers::Recv(int from, uint64_t slot, int64_t offset, int64_t bytes) {
  buffer_->recv(from, slot, static_cast<size_t>(offset), static_cast<size_t>(bytes));
  ++recvs_;
}

void Transfers::RecvFromAny(uint64_t slot, int64_t bytes) {
  std::vector<int> peers;
  for (int rank = 0; rank < mesh_.size; ++rank) {
    if (rank != mesh_.rank) peers.push_back(rank);
  }
  buffer_->recv(std::move(peers), slot, 0, static_cast<size_t>(bytes));
  ++recvs_;
}

void Transfers::WaitForSend(absl::Time deadline) {
  if (sends_ == 0) return;
  buffer_->waitSend(TimeLeft(deadline));
  --sends_;
}

int Transfers::WaitForRecv(absl::Time deadline) {
  int from = -1;
  if (recvs_ == 0) return from;
  buffer_->waitRecv(&from, TimeLeft(deadline));
  --recvs_;
  return from;
}

void Transfers::WaitForAll(absl::Time deadline) {
  while (recvs_ > 0) WaitForRecv(deadline);
  while (sends_ > 0) WaitForSend(deadline);
}

}  // namespace lockstep
