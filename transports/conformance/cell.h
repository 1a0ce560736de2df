// One cell of the table of everything that a transport must compute: an operation, with a dtype, a reduction, a size, in place
// or not. The tables here make all cells; a cell knows its inputs and, by a loop over exact numbers, its outputs.
#ifndef LOCKSTEP_TRANSPORTS_CONFORMANCE_CELL_H_
#define LOCKSTEP_TRANSPORTS_CONFORMANCE_CELL_H_

#include <cstdint>
#include <string>
#include <vector>

#include "transports/buffer.h"
#include "transports/reduce_op.h"
#include "transports/transport.h"

namespace lockstep {

// Every operation of Communicator that moves elements.
enum class Form : uint8_t {
  kAllReduce,
  kReduce,
  kReduceScatter,
  kReduceScatterV,
  kBroadcast,
  kAllGather,
  kAllGatherV,
  kGather,
  kGatherV,
  kScatter,
  kScatterV,
  kAllToAll,
  kAllToAllV,
  kSendRecv,
  kRecvFromAny,
};
inline constexpr int kNumForms = 15;
const char* FormName(Form form);
bool FormReduces(Form form);
bool FormCanBeInPlace(Form form);

struct Cell {
  Form form = Form::kAllReduce;
  DType dtype = DType::kF32;
  ReduceOp op = ReduceOp::kSum;
  int64_t count = 0;  // elements of a rank's part; the forms with a V give each rank another share of it
  bool in_place = false;
};
std::string DescribeCell(const Cell& cell);  // "reduce_scatter_v max bf16 x 1001, in place"

// Elements from 0 to an odd number; memory then begins between two vectors.
std::vector<int64_t> SmallCounts();
// More than 1 MiB, by 3 elements: many segments on any transport, no multiple of anything.
int64_t LargeCount(DType dtype);

// The whole table for those counts, `large` among them: every form, dtype, reduction that is defined, in place and not.
std::vector<Cell> AllCells(bool large);
// For each form and dtype one large cell, and for each form and reduction one of f32, or of i32 where f32 has it not.
std::vector<Cell> SomeLargeCells();

// Runs a cell as this rank, all ranks the same one, and says what is wrong with the result; "" if nothing is. `number` varies
// the root.
std::string RunCell(Communicator& communicator, const Cell& cell, int number);

}  // namespace lockstep

#endif  // LOCKSTEP_TRANSPORTS_CONFORMANCE_CELL_H_
