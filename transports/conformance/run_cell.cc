// Runs one cell of the table: inputs that every rank can compute for every other, the operation, and a reference by loops.
//
// Inputs are small whole numbers, so that results are exact in every type and every order of the ranks, but for averages.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <type_traits>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "transports/conformance/cell.h"
#include "transports/dtype_dispatch.h"
#include "transports/float16.h"

namespace lockstep {
namespace {

constexpr unsigned char kUntouched = 0xa5;

// Inputs repeat after so many elements, and with them results: what is computed once is copied. It fits no slice and no segment
// of a transport, so that elements in another's place are seen.
constexpr int64_t kPeriod = 4 * 1009;

// --- Elements ------------------------------------------------------------------------------------------------------------

// What rank `rank` gives at `index`: 1, 2, -1 or -2, so that the product of nine is exact in 16 bits too; of unsigned types 0
// to 3, of bool any of 0, 1 and 2, of which the last is true as well.
int64_t Input(DType dtype, int rank, int64_t index) {
  const int64_t mixed = (index * 7 + rank * 5 + index / 1009) % 4;
  if (dtype == DType::kBool) return mixed % 3;
  if (dtype == DType::kU8 || dtype == DType::kU64) return mixed;
  return mixed < 2 ? mixed + 1 : 1 - mixed;
}

double Premultiplier(int rank) { return rank % 2 == 0 ? 0.5 : -2; }

template <typename T>
T FromNumber(double number) {
  if constexpr (std::is_same_v<T, Float16>) {
    return ToFloat16(static_cast<float>(number));
  } else if constexpr (std::is_same_v<T, BFloat16>) {
    return ToBFloat16(static_cast<float>(number));
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<int64_t>(number));  // wraps
  } else {
    return static_cast<T>(number);
  }
}

// Element `index` of `buffer` becomes `of(index)`, which has the period; a bool's byte that number itself.
void Fill(const Buffer& buffer, absl::FunctionRef<double(int64_t)> of) {
  WithDType(buffer.dtype == DType::kBool ? DType::kU8 : buffer.dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    T* const to = static_cast<T*>(buffer.data);
    for (int64_t i = 0; i < std::min(kPeriod, buffer.count); ++i) to[i] = FromNumber<T>(of(i));
    for (int64_t i = kPeriod; i < buffer.count; i += kPeriod) std::copy_n(to, std::min(kPeriod, buffer.count - i), to + i);
  });
}

// "" if the elements are those, bit for bit.
std::string Compare(const char* what, const Buffer& buffer, absl::FunctionRef<double(int64_t)> of) {
  const int64_t size = SizeOf(buffer.dtype);
  std::vector<unsigned char> expected(static_cast<size_t>(std::min(kPeriod, buffer.count) * size));
  Fill(Buffer{expected.data(), std::min(kPeriod, buffer.count), buffer.dtype, Device()}, of);
  for (int64_t begin = 0; begin < buffer.count; begin += kPeriod) {
    const auto* const actual = static_cast<const unsigned char*>(buffer.data) + begin * size;
    const size_t bytes = static_cast<size_t>(std::min(kPeriod, buffer.count - begin) * size);
    if (std::memcmp(actual, expected.data(), bytes) == 0) continue;
    const auto difference = std::mismatch(actual, actual + bytes, expected.begin());
    const int64_t index = begin + (difference.first - actual) / size;
    return absl::StrCat(what, ": element ", index, " of ", buffer.count, " should be ", of(index));
  }
  return "";
}

// --- References ------------------------------------------------------------------------------------------------------------

bool IsFloat(DType dtype) { return dtype <= DType::kF64; }

int64_t CombineIntegers(int64_t a, int64_t b, ReduceOp op) {
  switch (op) {
    case ReduceOp::kProduct:
      return a * b;
    case ReduceOp::kMin:
      return std::min(a, b);
    case ReduceOp::kMax:
      return std::max(a, b);
    case ReduceOp::kBand:
      return a & b;
    case ReduceOp::kBor:
      return a | b;
    case ReduceOp::kBxor:
      return a ^ b;
    default:
      return a + b;
  }
}

double ReducedBools(ReduceOp op, int size, int64_t index) {
  int trues = 0;
  for (int rank = 0; rank < size; ++rank) trues += Input(DType::kBool, rank, index) != 0 ? 1 : 0;
  if (op == ReduceOp::kBxor) return trues % 2;
  const bool all = op == ReduceOp::kProduct || op == ReduceOp::kMin || op == ReduceOp::kBand;
  return (all ? trues == size : trues > 0) ? 1 : 0;
}

double Reduced(const Cell& cell, int size, int64_t index) {
  if (cell.dtype == DType::kBool) return ReducedBools(cell.op, size, index);
  if (cell.op == ReduceOp::kPremulSum) {
    double sum = 0;
    for (int rank = 0; rank < size; ++rank) sum += Premultiplier(rank) * static_cast<double>(Input(cell.dtype, rank, index));
    return sum;
  }
  int64_t result = Input(cell.dtype, 0, index);
  for (int rank = 1; rank < size; ++rank) result = CombineIntegers(result, Input(cell.dtype, rank, index), cell.op);
  if (cell.op != ReduceOp::kAvg) return static_cast<double>(result);
  const double average = static_cast<double>(result) / size;
  return IsFloat(cell.dtype) ? average : std::trunc(average);
}

// --- Counts ----------------------------------------------------------------------------------------------------------------

// Of a form with a V, what rank `from` has for rank `to`, or what part `to` has where that is the same for all: 0 now and then.
int64_t Share(const Cell& cell, int from, int to) { return cell.count * ((from * 2 + to * 3 + 1) % 4) / 2; }

bool HasCounts(Form form) {
  return form == Form::kReduceScatterV || form == Form::kAllGatherV || form == Form::kGatherV || form == Form::kScatterV ||
         form == Form::kAllToAllV;
}

std::vector<int64_t> CountsOf(const Cell& cell, int size) {
  std::vector<int64_t> counts(static_cast<size_t>(size), cell.count);
  for (int rank = 0; HasCounts(cell.form) && rank < size; ++rank) counts[static_cast<size_t>(rank)] = Share(cell, 0, rank);
  return counts;
}
int64_t Before(const std::vector<int64_t>& counts, int rank) {
  return std::accumulate(counts.begin(), counts.begin() + rank, int64_t{0});
}
int64_t Sum(const std::vector<int64_t>& counts) { return Before(counts, static_cast<int>(counts.size())); }

// --- Memory ----------------------------------------------------------------------------------------------------------------

// Elements with marked bytes around them. An odd count begins one element after a round address.
class Memory {
 public:
  Memory(DType dtype, int64_t count) : before_(64 + (count % 2) * SizeOf(dtype)) {
    bytes_.assign(static_cast<size_t>(before_ + count * SizeOf(dtype) + 64), kUntouched);
    const auto address = reinterpret_cast<uintptr_t>(bytes_.data());
    before_ -= static_cast<int64_t>(address % 64) / SizeOf(dtype) * SizeOf(dtype);
    view_ = Buffer{bytes_.data() + before_, count, dtype, Device()};
  }

  const Buffer& view() const { return view_; }
  Buffer Part(int64_t begin, int64_t count) const {
    return Buffer{static_cast<char*>(view_.data) + begin * SizeOf(view_.dtype), count, view_.dtype, Device()};
  }
  std::string Check(const char* what) const {
    const auto untouched = [](unsigned char byte) { return byte == kUntouched; };
    const auto end = bytes_.begin() + before_ + view_.bytes();
    if (std::all_of(bytes_.begin(), bytes_.begin() + before_, untouched) && std::all_of(end, bytes_.end(), untouched))
      return "";
    return absl::StrCat(what, ": bytes around it were written");
  }

 private:
  int64_t before_;
  std::vector<unsigned char> bytes_;
  Buffer view_;
};

// --- Running ---------------------------------------------------------------------------------------------------------------

struct Run {
  Communicator& comm;
  const Cell& cell;
  int root;
  CallOptions options;

  int rank() const { return comm.rank(); }
  int size() const { return comm.size(); }
  bool is_root() const { return rank() == root; }
  void FillOwn(const Buffer& buffer) const {
    Fill(buffer, [&](int64_t i) { return static_cast<double>(Input(cell.dtype, rank(), i)); });
  }
  std::string CompareOwn(const Buffer& buffer) const {
    return Compare("`in` was changed", buffer, [&](int64_t i) { return static_cast<double>(Input(cell.dtype, rank(), i)); });
  }
};

// The first that is not empty.
std::string First(std::initializer_list<std::string> texts) {
  for (const std::string& text : texts) {
    if (!text.empty()) return text;
  }
  return "";
}

std::string Ended(const Work& work) {
  const absl::Status status = work.Wait();
  return status.ok() ? "" : status.ToString();
}

// all_reduce, reduce.
std::string RunReduction(const Run& run) {
  const Cell& cell = run.cell;
  const bool to_all = cell.form == Form::kAllReduce, gets = to_all || run.is_root();
  const Memory in(cell.dtype, cell.count), out(cell.dtype, gets ? cell.count : 0);
  const Buffer to = cell.in_place && gets ? in.view() : out.view();
  run.FillOwn(in.view());
  const std::string ended = Ended(to_all ? run.comm.AllReduce(in.view(), to, cell.op, run.options)
                                         : run.comm.Reduce(in.view(), to, cell.op, run.root, run.options));
  if (!ended.empty()) return ended;
  const std::string result = gets ? Compare("`out`", to, [&](int64_t i) { return Reduced(cell, run.size(), i); }) : "";
  return First({result, to.data == in.view().data ? "" : run.CompareOwn(in.view()), in.Check("in"), out.Check("out")});
}

std::string RunReduceScatter(const Run& run) {
  const Cell& cell = run.cell;
  const std::vector<int64_t> counts = CountsOf(cell, run.size());
  const int64_t own = counts[static_cast<size_t>(run.rank())], begin = Before(counts, run.rank());
  const Memory in(cell.dtype, Sum(counts)), out(cell.dtype, own);
  const Buffer to = cell.in_place ? in.Part(begin, own) : out.view();
  run.FillOwn(in.view());
  const std::string ended =
      Ended(cell.form == Form::kReduceScatter ? run.comm.ReduceScatter(in.view(), to, cell.op, run.options)
                                              : run.comm.ReduceScatterV(in.view(), to, counts, cell.op, run.options));
  if (!ended.empty()) return ended;
  return First({Compare("`out`", to, [&](int64_t i) { return Reduced(cell, run.size(), begin + i); }),
                cell.in_place ? "" : run.CompareOwn(in.view()), in.Check("in"), out.Check("out")});
}

std::string RunBroadcast(const Run& run) {
  const Memory inout(run.cell.dtype, run.cell.count);
  run.FillOwn(inout.view());
  const std::string ended = Ended(run.comm.Broadcast(inout.view(), run.root, run.options));
  if (!ended.empty()) return ended;
  const auto of_root = [&](int64_t i) { return static_cast<double>(Input(run.cell.dtype, run.root, i)); };
  return First({Compare("`inout`", inout.view(), of_root), inout.Check("inout")});
}

Work StartGather(const Run& run, const Buffer& in, const Buffer& out, const std::vector<int64_t>& counts) {
  switch (run.cell.form) {
    case Form::kAllGather:
      return run.comm.AllGather(in, out, run.options);
    case Form::kAllGatherV:
      return run.comm.AllGatherV(in, out, counts, run.options);
    case Form::kGather:
      return run.comm.Gather(in, out, run.root, run.options);
    default:
      return run.comm.GatherV(in, out, run.is_root() ? absl::MakeConstSpan(counts) : absl::Span<const int64_t>(), run.root,
                              run.options);
  }
}

// all_gather, gather and their forms with counts.
std::string RunGather(const Run& run) {
  const Cell& cell = run.cell;
  const std::vector<int64_t> counts = CountsOf(cell, run.size());
  const bool to_all = cell.form == Form::kAllGather || cell.form == Form::kAllGatherV, gets = to_all || run.is_root();
  const int64_t own = counts[static_cast<size_t>(run.rank())];
  const Memory in(cell.dtype, own), out(cell.dtype, gets ? Sum(counts) : 0);
  const Buffer from = cell.in_place && gets ? out.Part(Before(counts, run.rank()), own) : in.view();
  run.FillOwn(from);
  const std::string ended = Ended(StartGather(run, from, out.view(), counts));
  if (!ended.empty()) return ended;
  for (int rank = 0; gets && rank < run.size(); ++rank) {
    const auto of_rank = [&](int64_t i) { return static_cast<double>(Input(cell.dtype, rank, i)); };
    const Buffer part = out.Part(Before(counts, rank), counts[static_cast<size_t>(rank)]);
    if (std::string wrong = Compare("`out`", part, of_rank); !wrong.empty())
      return absl::StrCat(wrong, ", from rank ", rank);
  }
  return First({run.CompareOwn(from), in.Check("in"), out.Check("out")});
}

std::string RunScatter(const Run& run) {
  const Cell& cell = run.cell;
  const std::vector<int64_t> counts = CountsOf(cell, run.size());
  const int64_t own = counts[static_cast<size_t>(run.rank())], begin = Before(counts, run.rank());
  const Memory in(cell.dtype, run.is_root() ? Sum(counts) : 0), out(cell.dtype, own);
  const Buffer to = cell.in_place && run.is_root() ? in.Part(begin, own) : out.view();
  run.FillOwn(in.view());
  const Work work =
      cell.form == Form::kScatter
          ? run.comm.Scatter(in.view(), to, run.root, run.options)
          : run.comm.ScatterV(in.view(), run.is_root() ? absl::MakeConstSpan(counts) : absl::Span<const int64_t>(), to,
                              run.root, run.options);
  if (std::string ended = Ended(work); !ended.empty()) return ended;
  const auto of_root = [&](int64_t i) { return static_cast<double>(Input(cell.dtype, run.root, begin + i)); };
  return First({Compare("`out`", to, of_root), run.CompareOwn(in.view()), in.Check("in"), out.Check("out")});
}

std::string RunAllToAll(const Run& run) {
  const Cell& cell = run.cell;
  const bool counted = cell.form == Form::kAllToAllV;
  const auto share = [&](int from, int to) { return counted ? Share(cell, from, to) : cell.count; };
  std::vector<int64_t> sends, takes;
  for (int rank = 0; rank < run.size(); ++rank) {
    sends.push_back(share(run.rank(), rank));
    takes.push_back(share(rank, run.rank()));
  }
  const Memory in(cell.dtype, Sum(sends)), out(cell.dtype, Sum(takes));
  run.FillOwn(in.view());
  const std::string ended = Ended(counted ? run.comm.AllToAllV(in.view(), sends, out.view(), takes, run.options)
                                          : run.comm.AllToAll(in.view(), out.view(), run.options));
  if (!ended.empty()) return ended;
  for (int from = 0; from < run.size(); ++from) {
    int64_t begin = 0;  // of this rank's part of what `from` sends
    for (int to = 0; to < run.rank(); ++to) begin += share(from, to);
    const auto expected = [&](int64_t i) { return static_cast<double>(Input(cell.dtype, from, begin + i)); };
    const Buffer part = out.Part(Before(takes, from), takes[static_cast<size_t>(from)]);
    if (std::string wrong = Compare("`out`", part, expected); !wrong.empty())
      return absl::StrCat(wrong, ", from rank ", from);
  }
  return First({run.CompareOwn(in.view()), in.Check("in"), out.Check("out")});
}

// Around a ring: rank 0 sends first, the others receive first.
std::string RunSendRecv(const Run& run) {
  if (run.size() == 1) return "";
  const Cell& cell = run.cell;
  const int next = (run.rank() + 1) % run.size(), previous = (run.rank() + run.size() - 1) % run.size();
  const Memory in(cell.dtype, cell.count), out(cell.dtype, cell.count);
  run.FillOwn(in.view());
  Work received;
  const auto send = [&] { return Ended(run.comm.Send(in.view(), next, 7, run.options)); };
  const auto receive = [&] {
    received = run.comm.Recv(out.view(), previous, 7, run.options);
    return Ended(received);
  };
  std::string ended = run.rank() == 0 ? send() : receive();
  if (ended.empty()) ended = run.rank() == 0 ? receive() : send();
  if (!ended.empty()) return ended;
  if (received.source() != previous) return absl::StrCat("source() is ", received.source(), ", not ", previous);
  const auto expected = [&](int64_t i) { return static_cast<double>(Input(cell.dtype, previous, i)); };
  return First({Compare("`out`", out.view(), expected), run.CompareOwn(in.view()), in.Check("in"), out.Check("out")});
}

// What is wrong with a message from any rank, of those not `seen` yet.
std::string CheckMessage(const Run& run, const Buffer& message, int source, std::vector<bool>& seen) {
  if (source < 0 || source >= run.size() || source == run.root) return absl::StrCat("source() is ", source);
  if (seen[static_cast<size_t>(source)]) return absl::StrCat("a second message of rank ", source);
  seen[static_cast<size_t>(source)] = true;
  return Compare("`out`", message, [&](int64_t i) { return static_cast<double>(Input(run.cell.dtype, source, i)); });
}

// The root takes one message of each other rank, in the order in which they come.
std::string RunRecvFromAny(const Run& run) {
  const Cell& cell = run.cell;
  const Memory memory(cell.dtype, cell.count);
  run.FillOwn(memory.view());
  if (!run.is_root()) return First({Ended(run.comm.Send(memory.view(), run.root, 3, run.options)), memory.Check("in")});
  std::vector<bool> seen(static_cast<size_t>(run.size()));
  std::string wrong;
  for (int i = 1; i < run.size(); ++i) {  // all of them, whatever is wrong with one: the others wait for their turn
    const Work work = run.comm.Recv(memory.view(), kAnyRank, 3, run.options);
    if (std::string ended = Ended(work); !ended.empty()) return ended;
    wrong = First({wrong, CheckMessage(run, memory.view(), work.source(), seen)});
  }
  return First({wrong, memory.Check("out")});
}

}  // namespace

std::string RunCell(Communicator& communicator, const Cell& cell, int number) {
  Run run{communicator, cell, number % communicator.size(), {}};
  run.options.premultiplier = Premultiplier(communicator.rank());
  switch (cell.form) {
    case Form::kAllReduce:
    case Form::kReduce:
      return RunReduction(run);
    case Form::kReduceScatter:
    case Form::kReduceScatterV:
      return RunReduceScatter(run);
    case Form::kBroadcast:
      return RunBroadcast(run);
    case Form::kAllGather:
    case Form::kAllGatherV:
    case Form::kGather:
    case Form::kGatherV:
      return RunGather(run);
    case Form::kScatter:
    case Form::kScatterV:
      return RunScatter(run);
    case Form::kAllToAll:
    case Form::kAllToAllV:
      return RunAllToAll(run);
    case Form::kSendRecv:
      return RunSendRecv(run);
    case Form::kRecvFromAny:
      return RunRecvFromAny(run);
  }
  return "no such form";
}

}  // namespace lockstep
