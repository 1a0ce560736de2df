// The connections of one communicator: each rank with each other, through Gloo's TCP.
#ifndef LOCKSTEP_TRANSPORTS_GLOO_GLOO_MESH_H_
#define LOCKSTEP_TRANSPORTS_GLOO_GLOO_MESH_H_

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "gloo/context.h"
#include "gloo/transport/device.h"
#include "gloo/transport/unbound_buffer.h"
#include "transports/gloo/interruptible_context.h"
#include "transports/store/store.h"

namespace lockstep {

using GlooDevice = std::shared_ptr<gloo::transport::Device>;

// A device that listens on the address `host` resolves to, with a thread of its own that serves every mesh made on it.
// UNAVAILABLE if `host` is no address of this machine.
absl::StatusOr<GlooDevice> MakeGlooDevice(const std::string& host);

// Gloo calls this a context; its algorithms run on it. Thread-safe where Gloo is: one operation at a time, CloseAll and
// BrokenPeers besides.
class GlooMesh : public gloo::Context {
 public:
  // Meets the peers in `store` and connects with each, up to `deadline`. FAILED_PRECONDITION if ranks give different sizes;
  // ALREADY_EXISTS if the rank has come before; DEADLINE_EXCEEDED names those that did not come.
  static absl::StatusOr<std::shared_ptr<GlooMesh>> Connect(Store& store, GlooDevice device, int rank, int size,
                                                           absl::Time deadline);

  // "rank 2 (host h, pid 88)".
  std::string DescribeRank(int which) const;

  // Ends every operation in progress with an exception, and every later one. Any thread.
  void CloseAll();

  // Takes over a buffer whose transfers have ended, to destroy it two calls of StartOperation later: Gloo's destructor spins until
  // the thread that ended the last transfer is through with it, which costs milliseconds if that one has lost its core. By the
  // thread that runs operations.
  void Retire(std::unique_ptr<gloo::transport::UnboundBuffer> buffer) { retired_[0].push_back(std::move(buffer)); }
  void StartOperation();

  // The peers with which the connection has ended, but by CloseAll here, or whose host gives no sign of life. Any thread; never
  // waits long.
  std::vector<int> BrokenPeers();

  // Bytes that have arrived, here or there, since all were connected.
  int64_t BytesMoved();

 private:
  struct Identity {
    std::string host;
    int64_t pid = 0;
  };

  GlooMesh(int own_rank, int ranks) : gloo::Context(own_rank, ranks), identities_(static_cast<size_t>(ranks)) {}
  absl::Status CreatePairs(GlooDevice device, absl::Time deadline, std::vector<std::string>& addresses);
  absl::Status ConnectTo(int peer, const std::string& serialized);
  std::vector<int> FindBroken();

  std::vector<Identity> identities_;
  std::shared_ptr<InterruptibleContext> interruptible_;                                  // what transportContext_ is
  std::array<std::vector<std::unique_ptr<gloo::transport::UnboundBuffer>>, 2> retired_;  // by this operation, by the last
  absl::Mutex mu_;
  absl::optional<std::vector<int>> broken_before_ ABSL_GUARDED_BY(mu_);  // set by the first CloseAll
};

}  // namespace lockstep

#endif  // LOCKSTEP_TRANSPORTS_GLOO_GLOO_MESH_H_
