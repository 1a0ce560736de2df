#include "transports/gloo/interruptible_context.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "gloo/common/error.h"

namespace lockstep {

class InterruptibleContext::Buffer : public gloo::transport::UnboundBuffer {
 public:
  Buffer(InterruptibleContext& context, void* data, size_t bytes)
      : UnboundBuffer(data, bytes), context_(context), inner_(context.inner_->createUnboundBuffer(data, bytes)) {
    absl::MutexLock lock(&context_.mu_);
    context_.buffers_.push_back(this);
  }
  ~Buffer() override {
    absl::MutexLock lock(&context_.mu_);
    auto& all = context_.buffers_;
    all.erase(std::find(all.begin(), all.end(), this));
  }

  using UnboundBuffer::recv;
  using UnboundBuffer::waitRecv;
  using UnboundBuffer::waitSend;

  bool waitRecv(int* rank, std::chrono::milliseconds timeout) override {
    CheckNotInterrupted();
    if (!inner_->waitRecv(rank, timeout)) Throw();
    return true;
  }
  bool waitSend(int* rank, std::chrono::milliseconds timeout) override {
    CheckNotInterrupted();
    if (!inner_->waitSend(rank, timeout)) Throw();
    return true;
  }
  // What these set stays until the next wait looks at it, so none that begins just now is missed.
  void abortWaitRecv() override { inner_->abortWaitRecv(); }
  void abortWaitSend() override { inner_->abortWaitSend(); }

  void send(int to, uint64_t slot, size_t offset, size_t bytes) override { inner_->send(to, slot, offset, bytes); }
  void recv(int from, uint64_t slot, size_t offset, size_t bytes) override { inner_->recv(from, slot, offset, bytes); }
  void recv(std::vector<int> from, uint64_t slot, size_t offset, size_t bytes) override {
    inner_->recv(std::move(from), slot, offset, bytes);
  }

 private:
  [[noreturn]] static void Throw() { throw gloo::IoException("interrupted: a connection of this communicator has ended"); }
  void CheckNotInterrupted() {
    absl::MutexLock lock(&context_.mu_);
    if (context_.interrupted_) Throw();
  }

  InterruptibleContext& context_;
  const std::unique_ptr<UnboundBuffer> inner_;
};

InterruptibleContext::InterruptibleContext(std::shared_ptr<gloo::transport::Context> inner)
    : Context(inner->rank, inner->size), inner_(std::move(inner)) {
  setTimeout(inner_->getTimeout());
}

std::unique_ptr<gloo::transport::UnboundBuffer> InterruptibleContext::createUnboundBuffer(void* data, size_t bytes) {
  return std::make_unique<Buffer>(*this, data, bytes);
}

void InterruptibleContext::Interrupt() {
  absl::MutexLock lock(&mu_);
  interrupted_ = true;
  for (Buffer* buffer : buffers_) {
    buffer->abortWaitRecv();
    buffer->abortWaitSend();
  }
}

}  // namespace lockstep
