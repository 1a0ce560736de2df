// The connections of one communicator: each rank with each other, through Gloo's TCP.
#ifndef LOCKSTEP_TRANSPORTS_GLOO_GLOO_MESH_H_
#define LOCKSTEP_TRANSPORTS_GLOO_GLOO_MESH_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gloo/context.h"
#include "gloo/transport/device.h"
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

  // Ends every operation in progress with an exception, and every later one.
  void CloseAll();

  // The peers to which the connection has ended, wherever it was ended. Sends each of the others a message that none of them
  // ever takes, so ask rarely. Any thread.
  std::vector<int> BrokenPeers();

 private:
  struct Identity {
    std::string host;
    int64_t pid = 0;
  };

  GlooMesh(int own_rank, int ranks) : gloo::Context(own_rank, ranks), identities_(static_cast<size_t>(ranks)) {}
  absl::Status CreatePairs(GlooDevice device, absl::Time deadline, std::vector<std::string>& addresses);
  absl::Status ConnectTo(int peer, const std::string& serialized);

  std::vector<Identity> identities_;
  std::shared_ptr<InterruptibleContext> interruptible_;  // what transportContext_ is
};

}  // namespace lockstep

#endif  // LOCKSTEP_TRANSPORTS_GLOO_GLOO_MESH_H_
