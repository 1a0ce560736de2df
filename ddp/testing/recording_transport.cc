#include "ddp/testing/recording_transport.h"

#include <utility>

#include "absl/status/status_macros.h"

namespace lockstep {
namespace {

class RecordingCommunicator final : public Communicator {
 public:
  RecordingCommunicator(std::unique_ptr<Communicator> inner, RecordingTransport::Observer observer)
      : inner_(std::move(inner)), observer_(std::move(observer)) {}

  int rank() const override { return inner_->rank(); }
  int size() const override { return inner_->size(); }

  Work AllReduce(ConstBuffer in, Buffer out, ReduceOp op, const CallOptions& options) override {
    return Record("all_reduce", options.name, out.count, inner_->AllReduce(in, out, op, options));
  }
  Work Broadcast(Buffer inout, int root, const CallOptions& options) override {
    return Record("broadcast", options.name, inout.count, inner_->Broadcast(inout, root, options));
  }
  Work AllGather(ConstBuffer in, Buffer out, const CallOptions& options) override {
    return Record("all_gather", options.name, in.count, inner_->AllGather(in, out, options));
  }
  Work Barrier(const CallOptions& options) override { return Record("barrier", options.name, 0, inner_->Barrier(options)); }
  Work Send(ConstBuffer in, int to, int tag, const CallOptions& options) override {
    return Record("send", options.name, in.count, inner_->Send(in, to, tag, options));
  }
  Work Recv(Buffer out, int from, int tag, const CallOptions& options) override {
    return Record("recv", options.name, out.count, inner_->Recv(out, from, tag, options));
  }

  absl::StatusOr<std::unique_ptr<Communicator>> Split(int color, int key) override {
    ABSL_ASSIGN_OR_RETURN(std::unique_ptr<Communicator> part, inner_->Split(color, key));
    if (part == nullptr) return part;
    return std::unique_ptr<Communicator>(new RecordingCommunicator(std::move(part), observer_));
  }
  absl::StatusOr<Arena> CreateArena(int64_t bytes) override { return inner_->CreateArena(bytes); }
  void Progress() override { inner_->Progress(); }
  void Abort(absl::Status why) override { inner_->Abort(std::move(why)); }
  absl::Status health() const override { return inner_->health(); }

 protected:
  // Works are the inner communicator's and never come here.
  absl::Status WaitFor(int64_t) override { return absl::InternalError("a Work of a recording communicator"); }
  bool IsDone(int64_t) const override { return true; }
  void BlockStreamOn(int64_t, Stream) override {}

 private:
  Work Record(absl::string_view kind, absl::string_view name, int64_t count, Work work) {
    observer_({rank(), kind, name, count});
    return work;
  }

  const std::unique_ptr<Communicator> inner_;
  const RecordingTransport::Observer observer_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Communicator>> RecordingTransport::Connect(Store& store, const ConnectOptions& options) {
  ABSL_ASSIGN_OR_RETURN(std::unique_ptr<Communicator> communicator, inner_.Connect(store, options));
  return std::unique_ptr<Communicator>(new RecordingCommunicator(std::move(communicator), observer_));
}

}  // namespace lockstep
