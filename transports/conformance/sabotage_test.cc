// Would the suite notice? Seeds faults into a transport that is right, one at a time, and runs the table of cells over it: each
// fault must turn a cell red.
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "gtest/gtest.h"
#include "transports/conformance/cell.h"
#include "transports/in_process/in_process_transport.h"
#include "transports/testing/forwarding_communicator.h"
#include "transports/testing/rank_threads.h"

namespace lockstep {
namespace {

// A mistake that a transport's author could make: in what is done, or to what has been done.
struct Fault {
  std::string name;
  std::function<void(Operation&, int rank, int size)> before;
  std::function<void(const Operation&, int rank, int size)> after;
};

class SabotagedCommunicator final : public ForwardingCommunicator {
 public:
  SabotagedCommunicator(std::unique_ptr<Communicator> inner, const Fault& fault)
      : ForwardingCommunicator(std::move(inner)), fault_(fault) {}

 private:
  void BeforeStart(Operation& operation) override {
    if (fault_.before) fault_.before(operation, rank(), size());
  }
  void AfterEnd(const Operation& operation) override {
    if (fault_.after) fault_.after(operation, rank(), size());
  }
  std::unique_ptr<Communicator> Wrap(std::unique_ptr<Communicator> inner) override {
    return std::make_unique<SabotagedCommunicator>(std::move(inner), fault_);
  }

  const Fault& fault_;
};

unsigned char* BytesOf(const Buffer& buffer) { return static_cast<unsigned char*>(buffer.data); }

// Each part becomes the next rank's.
void RotateParts(const Operation& o, int size) {
  if (!o.parts.equal() || o.out.count != o.parts.begin(size)) return;
  const std::vector<unsigned char> old(BytesOf(o.out), BytesOf(o.out) + o.out.bytes());
  for (int p = 0; p < size; ++p) {
    const Buffer part = PartOf(o.out, o.parts, p);
    const int64_t from = o.parts.begin((p + 1) % size) * SizeOf(o.out.dtype);
    if (part.count > 0) std::memcpy(part.data, old.data() + from, static_cast<size_t>(part.bytes()));
  }
}

// Mistakes in what is done.
std::vector<Fault> FaultsBefore() {
  using Kind = OperationKind;
  const auto swap_op = [](ReduceOp wanted, ReduceOp done) {
    return [=](Operation& o, int, int) {
      if (o.op == wanted) o.op = done;
    };
  };
  const auto forget_factor = [](Operation& o, int, int) { o.premultiplier = 1; };
  const auto next_root = [](Operation& o, int, int size) {
    if (o.kind == Kind::kBroadcast) o.peer = (o.peer + 1) % size;
  };
  // The cells have room behind their elements.
  const auto shift_input = [](Operation& o, int rank, int) {
    if (o.kind != Kind::kReduce || rank != 1 || o.in.data == o.out.data) return;
    o.in.data = static_cast<const char*>(o.in.data) + SizeOf(o.in.dtype);
  };
  return {
      {"the minimum is the maximum", swap_op(ReduceOp::kMin, ReduceOp::kMax), nullptr},
      {"an average is a sum", swap_op(ReduceOp::kAvg, ReduceOp::kSum), nullptr},
      {"the factor of a premultiplied sum is forgotten", forget_factor, nullptr},
      {"a broadcast comes from the next rank", next_root, nullptr},
      {"one rank's input begins an element later", shift_input, nullptr},
  };
}

// Mistakes in what comes out.
std::vector<Fault> FaultsAfter() {
  using Kind = OperationKind;
  const auto rotate = [](Kind kind) {
    return [kind](const Operation& o, int, int size) {
      if (o.kind == kind) RotateParts(o, size);
    };
  };
  const auto skip_last = [](const Operation& o, int, int) {
    if (o.kind != Kind::kAllGather || o.out.count == 0) return;
    const int64_t size = SizeOf(o.out.dtype);
    std::memset(BytesOf(o.out) + o.out.bytes() - size, 0xa5, static_cast<size_t>(size));
  };
  const auto write_beyond = [](const Operation& o, int, int) {
    if (o.kind == Kind::kScatter) BytesOf(o.out)[o.out.bytes()] = 0;
  };
  const auto change_input = [](const Operation& o, int, int) {
    if (o.kind != Kind::kReduceScatter || o.in.count == 0) return;
    ++*static_cast<unsigned char*>(const_cast<void*>(o.in.data));
  };
  const auto cut_off = [](const Operation& o, int, int) {
    constexpr int64_t kLimit = 1 << 20;
    if (o.kind != Kind::kRecv || o.out.bytes() <= kLimit) return;
    std::memset(BytesOf(o.out) + kLimit, 0xa5, static_cast<size_t>(o.out.bytes() - kLimit));
  };
  const auto make_two_true = [](const Operation& o, int, int) {
    if (o.kind != Kind::kAllReduce || o.out.dtype != DType::kBool) return;
    for (int64_t i = 0; i < o.out.count; ++i) BytesOf(o.out)[i] = static_cast<unsigned char>(2 * BytesOf(o.out)[i]);
  };
  const auto round_down = [](const Operation& o, int, int) {
    if (o.kind != Kind::kAllReduce || o.op != ReduceOp::kAvg || o.out.dtype != DType::kBF16) return;
    auto* const elements = static_cast<BFloat16*>(o.out.data);
    for (int64_t i = 0; i < o.out.count; ++i) elements[i].bits &= 0xfffe;
  };
  return {
      {"parts of an all_to_all are the next rank's", nullptr, rotate(Kind::kAllToAll)},
      {"parts of a gather are the next rank's", nullptr, rotate(Kind::kGather)},
      {"the last element is not written", nullptr, skip_last},
      {"a byte beyond the end is written", nullptr, write_beyond},
      {"the input is changed", nullptr, change_input},
      {"only the first MiB of a message arrives", nullptr, cut_off},
      {"true is whatever is not 0", nullptr, make_two_true},
      {"16 bits are rounded down", nullptr, round_down},
  };
}

// What the first cell that is wrong says; "" if none is.
std::string RunTable(const Fault& fault) {
  std::vector<Cell> cells = AllCells(/*large=*/false);
  const std::vector<Cell> large = SomeLargeCells();
  cells.insert(cells.end(), large.begin(), large.end());
  InProcessTransport transport;
  absl::Mutex mu;
  std::string first;
  ConnectRanks(transport, 3, kTestDeadline, [&](std::unique_ptr<Communicator> inner, const std::shared_ptr<Store>&) {
    SabotagedCommunicator communicator(std::move(inner), fault);
    int number = 0;
    for (const Cell& cell : cells) {
      const std::string wrong = RunCell(communicator, cell, number++);
      if (wrong.empty()) continue;
      absl::MutexLock lock(&mu);
      if (first.empty()) first = absl::StrCat(DescribeCell(cell), ": ", wrong);
    }
  });
  return first;
}

TEST(Sabotage, TheTableIsGreenWithoutAFault) { EXPECT_EQ(RunTable({"none", nullptr, nullptr}), ""); }

TEST(Sabotage, EachSeededFaultTurnsACellRed) {
  std::vector<Fault> faults = FaultsBefore();
  for (Fault& fault : FaultsAfter()) faults.push_back(std::move(fault));
  EXPECT_GE(faults.size(), 12u);
  for (const Fault& fault : faults) {
    SCOPED_TRACE(fault.name);
    EXPECT_NE(RunTable(fault), "");
  }
}

}  // namespace
}  // namespace lockstep
