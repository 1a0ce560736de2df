#include "ddp/solo_communicator.h"

#include <cstdlib>
#include <cstring>
#include <functional>
#include <limits>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

namespace lockstep {
namespace {

constexpr int kMaxTag = (1 << 16) - 1;
constexpr size_t kNameBytesKept = 47;  // CallOptions::name

std::string Describe(absl::string_view kind, int64_t sequence, const ConstBuffer& buffer, absl::string_view name) {
  return absl::StrCat(kind, name.empty() ? "" : absl::StrCat(" \"", name.substr(0, kNameBytesKept), "\""), " (op ", sequence,
                      ", ", DescribeBuffer(buffer), ")");
}

absl::Status CheckBuffer(absl::string_view argument, const ConstBuffer& buffer) {
  if (buffer.count < 0) return absl::InvalidArgumentError(absl::StrCat("`", argument, "` has ", buffer.count, " elements"));
  if (buffer.data == nullptr && buffer.count > 0) {
    return absl::InvalidArgumentError(absl::StrCat("`", argument, "` has elements but no memory: its data is null"));
  }
  if (buffer.device == Device()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("`", argument, "` lies on ", DeviceName(buffer.device), "; a group of one moves host memory"));
}

// Overlapping in another way than `in` lying at `own_part`, where it would end up anyway, is an error.
absl::Status CheckOverlap(const ConstBuffer& in, const Buffer& out, const void* own_part) {
  const std::less<const char*> before;
  const char* in_begin = static_cast<const char*>(in.data);
  const char* out_begin = static_cast<const char*>(out.data);
  const bool apart = !before(in_begin, out_begin + out.bytes()) || !before(out_begin, in_begin + in.bytes());
  if (apart || in.data == own_part) return absl::OkStatus();
  return absl::InvalidArgumentError("`in` and `out` overlap; use the same memory for both, or memory apart");
}

// What AllReduce and AllGather of one rank share: `out` becomes `in`.
absl::Status CheckInAndOut(const ConstBuffer& in, const Buffer& out) {
  absl::Status status = CheckBuffer("in", in);
  status.Update(CheckBuffer("out", out));
  if (!status.ok()) return status;
  if (in.count != out.count || in.dtype != out.dtype) {
    return absl::InvalidArgumentError(absl::StrCat("`in` is ", DescribeBuffer(in), " but `out` is ", DescribeBuffer(out)));
  }
  return CheckOverlap(in, out, out.data);
}

absl::Status CheckReduceArguments(const ConstBuffer& in, const Buffer& out, ReduceOp op) {
  absl::Status status = CheckInAndOut(in, out);
  status.Update(CheckReduction(in.dtype, op));
  return status;
}

absl::Status CheckRoot(const Buffer& inout, int root) {
  if (root != 0)
    return absl::InvalidArgumentError(absl::StrCat("there is no rank ", root, " to be root: the group has 1 rank"));
  return CheckBuffer("inout", inout);
}

absl::Status RefusePeer(int peer, int tag) {
  if (tag < 0 || tag > kMaxTag) return absl::InvalidArgumentError(absl::StrCat("tag ", tag, " is not 0 to ", kMaxTag));
  return absl::InvalidArgumentError(absl::StrCat("rank ", peer, " is no peer: the group has 1 rank, this one"));
}

void Copy(const ConstBuffer& in, const Buffer& out) {
  if (in.data != out.data && in.count > 0) std::memcpy(out.data, in.data, static_cast<size_t>(in.bytes()));
}

template <typename T>
void Multiply(const Buffer& buffer, double factor) {
  T* const elements = static_cast<T*>(buffer.data);
  for (int64_t i = 0; i < buffer.count; ++i) elements[i] *= static_cast<T>(factor);
}

}  // namespace

Work SoloCommunicator::AllReduce(ConstBuffer in, Buffer out, ReduceOp op, const CallOptions& options) {
  return Run("all_reduce", in, options, CheckReduceArguments(in, out, op), [&] {
    Copy(in, out);
    if (op != ReduceOp::kPremulSum) return;  // every other reduction of one element is that element
    in.dtype == DType::kF32 ? Multiply<float>(out, options.premultiplier) : Multiply<double>(out, options.premultiplier);
  });
}

Work SoloCommunicator::Broadcast(Buffer inout, int root, const CallOptions& options) {
  return Run("broadcast", inout, options, CheckRoot(inout, root), [] {});
}

Work SoloCommunicator::AllGather(ConstBuffer in, Buffer out, const CallOptions& options) {
  return Run("all_gather", in, options, CheckInAndOut(in, out), [&] { Copy(in, out); });
}

Work SoloCommunicator::Barrier(const CallOptions& options) {
  return Run("barrier", ConstBuffer(nullptr, 0, DType::kU8), options, absl::OkStatus(), [] {});
}

Work SoloCommunicator::Send(ConstBuffer in, int to, int tag, const CallOptions& options) {
  return Run("send", in, options, RefusePeer(to, tag), [] {});
}

Work SoloCommunicator::Recv(Buffer out, int from, int tag, const CallOptions& options) {
  return Run("recv", out, options, RefusePeer(from, tag), [] {});
}

absl::StatusOr<std::unique_ptr<Communicator>> SoloCommunicator::Split(int color, int /*key*/) {
  if (absl::Status failed = health(); !failed.ok()) return failed;
  return color < 0 ? nullptr : std::make_unique<SoloCommunicator>();
}

absl::StatusOr<Arena> SoloCommunicator::CreateArena(int64_t bytes) {
  if (absl::Status failed = health(); !failed.ok()) return failed;
  if (bytes < 0) return absl::InvalidArgumentError(absl::StrCat("an arena of ", bytes, " bytes; expected 0 or more"));
  // aligned_alloc wants whole multiples of the alignment, and a byte to point to.
  const int64_t blocks = bytes / Arena::kAlignment + 1;
  if (blocks > std::numeric_limits<int64_t>::max() / Arena::kAlignment) {
    return absl::ResourceExhaustedError(absl::StrCat("no memory for an arena of ", bytes, " bytes"));
  }
  const size_t size = static_cast<size_t>(blocks * Arena::kAlignment);
  void* const memory = std::aligned_alloc(Arena::kAlignment, size);
  if (memory == nullptr) return absl::ResourceExhaustedError(absl::StrCat("no memory for an arena of ", bytes, " bytes"));
  std::memset(memory, 0, size);
  return Arena(memory, bytes, Device(), [memory] { std::free(memory); });
}

void SoloCommunicator::Abort(absl::Status why) {
  absl::MutexLock lock(&mu_);
  if (!aborted_.ok()) return;
  aborted_ = std::move(why);
  aborted_from_ = next_sequence_;
}

absl::Status SoloCommunicator::health() const {
  absl::MutexLock lock(&mu_);
  return aborted_;
}

absl::Status SoloCommunicator::WaitFor(int64_t sequence) {
  absl::MutexLock lock(&mu_);
  if (!aborted_.ok() && sequence >= aborted_from_) return aborted_;
  for (const Refusal& refusal : refusals_) {
    if (refusal.sequence == sequence) return refusal.status;
  }
  return absl::OkStatus();
}

Work SoloCommunicator::Run(absl::string_view kind, const ConstBuffer& buffer, const CallOptions& options,
                           const absl::Status& arguments, absl::FunctionRef<void()> effect) {
  absl::MutexLock lock(&mu_);
  const int64_t sequence = next_sequence_++;
  if (!aborted_.ok()) return Work(this, sequence);
  if (arguments.ok()) {
    effect();
  } else {
    refusals_[next_refusal_] = {
        sequence, absl::Status(arguments.code(),
                               absl::StrCat(Describe(kind, sequence, buffer, options.name), ": ", arguments.message()))};
    next_refusal_ = (next_refusal_ + 1) % kRemembered;
  }
  return Work(this, sequence);
}

}  // namespace lockstep
