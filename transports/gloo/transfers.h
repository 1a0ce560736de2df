// The transfers from and into one piece of memory: started one by one, counted, waited for. Throws what Gloo throws: use it
// under CallGloo.
#ifndef LOCKSTEP_TRANSPORTS_GLOO_TRANSFERS_H_
#define LOCKSTEP_TRANSPORTS_GLOO_TRANSFERS_H_

#include <cstdint>
#include <memory>

#include "absl/time/time.h"
#include "gloo/transport/unbound_buffer.h"
#include "transports/gloo/gloo_mesh.h"

namespace lockstep {

// For the thread that runs operations. Transfers under way when it is destroyed are cancelled.
class Transfers {
 public:
  // Gloo takes memory that is only sent as not const, too.
  Transfers(GlooMesh& mesh, const void* data, int64_t bytes);
  ~Transfers();
  Transfers(const Transfers&) = delete;
  Transfers& operator=(const Transfers&) = delete;

  // Starts to send, or to receive, `bytes` from byte `offset` on.
  void Send(int to, uint64_t slot, int64_t offset, int64_t bytes);
  void Recv(int from, uint64_t slot, int64_t offset, int64_t bytes);
  // From whichever peer sends first.
  void RecvFromAny(uint64_t slot, int64_t bytes);

  // Waits until one more has ended, if one is under way; WaitForRecv returns the rank it came from, of the last that has ended.
  void WaitForSend(absl::Time deadline);
  int WaitForRecv(absl::Time deadline);
  void WaitForAll(absl::Time deadline);

 private:
  GlooMesh& mesh_;
  std::unique_ptr<gloo::transport::UnboundBuffer> buffer_;
  int64_t sends_ = 0, recvs_ = 0;  // under way
};

}  // namespace lockstep

#endif  // LOCKSTEP_TRANSPORTS_GLOO_TRANSFERS_H_
