// Gloo's TCP context with waits that can be ended from outside.
//
// When a connection ends, Gloo wakes those who wait for transfers that have not begun, but forgets one whose bytes are under
// way (tcp::Pair::signalException looks at neither unbound buffers in tx_ nor at rx_): its wait lasts until its timeout.
// So every buffer made here is registered while it lives, and Interrupt ends the waits on all of them.
#ifndef LOCKSTEP_TRANSPORTS_GLOO_INTERRUPTIBLE_CONTEXT_H_
#define LOCKSTEP_TRANSPORTS_GLOO_INTERRUPTIBLE_CONTEXT_H_

#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "gloo/transport/context.h"
#include "gloo/transport/pair.h"
#include "gloo/transport/unbound_buffer.h"

namespace lockstep {

// Passes everything on to another context, which it owns. Thread-safe where that is.
class InterruptibleContext : public gloo::transport::Context {
 public:
  explicit InterruptibleContext(std::shared_ptr<gloo::transport::Context> inner);

  std::unique_ptr<gloo::transport::Pair>& getPair(int peer) override { return inner_->getPair(peer); }
  std::unique_ptr<gloo::transport::Pair>& createPair(int peer) override { return inner_->createPair(peer); }
  std::unique_ptr<gloo::transport::UnboundBuffer> createUnboundBuffer(void* data, size_t bytes) override;

  // Every wait on a buffer of this context throws, now and from now on. Any thread.
  void Interrupt();

 private:
  class Buffer;

  const std::shared_ptr<gloo::transport::Context> inner_;
  absl::Mutex mu_;
  bool interrupted_ ABSL_GUARDED_BY(mu_) = false;
  std::vector<Buffer*> buffers_ ABSL_GUARDED_BY(mu_);  // that live; a handful
};

}  // namespace lockstep

#endif  // LOCKSTEP_TRANSPORTS_GLOO_INTERRUPTIBLE_CONTEXT_H_
