#include "transports/conformance/cell.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace lockstep {
namespace {

struct FormFacts {
  const char* name;
  bool reduces;
  bool can_be_in_place;
};

// In the order of the enum.
constexpr FormFacts kForms[kNumForms] = {
    {"all_reduce", true, true},       {"reduce", true, true},      {"reduce_scatter", true, true},
    {"reduce_scatter_v", true, true}, {"broadcast", false, false}, {"all_gather", false, true},
    {"all_gather_v", false, true},    {"gather", false, true},     {"gather_v", false, true},
    {"scatter", false, true},         {"scatter_v", false, true},  {"all_to_all", false, false},
    {"all_to_all_v", false, false},   {"send_recv", false, false}, {"recv_from_any", false, false},
};

const FormFacts& Facts(Form form) { return kForms[static_cast<int>(form)]; }

std::vector<ReduceOp> OpsOf(Form form, DType dtype) {
  if (!FormReduces(form)) return {ReduceOp::kSum};  // not looked at
  std::vector<ReduceOp> ops;
  for (int op = 0; op < kNumReduceOps; ++op) {
    if (CheckReduction(dtype, static_cast<ReduceOp>(op)).ok()) ops.push_back(static_cast<ReduceOp>(op));
  }
  return ops;
}

}  // namespace

const char* FormName(Form form) { return Facts(form).name; }
bool FormReduces(Form form) { return Facts(form).reduces; }
bool FormCanBeInPlace(Form form) { return Facts(form).can_be_in_place; }

std::string DescribeCell(const Cell& cell) {
  return absl::StrCat(FormName(cell.form), " ", FormReduces(cell.form) ? ReduceOpName(cell.op) : "", " ",
                      DTypeName(cell.dtype), " x ", cell.count, cell.in_place ? ", in place" : "");
}

std::vector<int64_t> SmallCounts() { return {0, 1, 6, 1001}; }
int64_t LargeCount(DType dtype) { return (1 << 20) / SizeOf(dtype) + 3; }

std::vector<Cell> AllCells(bool large) {
  std::vector<Cell> cells;
  for (int form = 0; form < kNumForms; ++form) {
    for (int dtype = 0; dtype < kNumDTypes; ++dtype) {
      std::vector<int64_t> counts = SmallCounts();
      if (large) counts.push_back(LargeCount(static_cast<DType>(dtype)));
      for (const ReduceOp op : OpsOf(static_cast<Form>(form), static_cast<DType>(dtype))) {
        for (const int64_t count : counts) {
          for (const bool in_place : {false, true}) {
            if (in_place && !FormCanBeInPlace(static_cast<Form>(form))) continue;
            cells.push_back({static_cast<Form>(form), static_cast<DType>(dtype), op, count, in_place});
          }
        }
      }
    }
  }
  return cells;
}

std::vector<Cell> SomeLargeCells() {
  std::vector<Cell> cells;
  bool in_place = false;
  for (int f = 0; f < kNumForms; ++f) {
    const Form form = static_cast<Form>(f);
    const auto add = [&](DType dtype, ReduceOp op) {
      in_place = !in_place;
      cells.push_back({form, dtype, op, LargeCount(dtype), in_place && FormCanBeInPlace(form)});
    };
    for (int dtype = 0; dtype < kNumDTypes; ++dtype) add(static_cast<DType>(dtype), ReduceOp::kSum);
    for (int op = 1; FormReduces(form) && op < kNumReduceOps; ++op) {
      const bool floats = CheckReduction(DType::kF32, static_cast<ReduceOp>(op)).ok();
      add(floats ? DType::kF32 : DType::kI32, static_cast<ReduceOp>(op));
    }
  }
  return cells;
}

}  // namespace lockstep
