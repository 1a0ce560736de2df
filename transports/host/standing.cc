#include "transports/host/standing.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "transports/host/operation_check.h"
#include "transports/host/operation_text.h"

namespace lockstep {
namespace {

absl::Status Disagree(absl::string_view how, const Standing& a, const Standing& b, int size) {
  const Standing &first = a.rank < b.rank ? a : b, &second = a.rank < b.rank ? b : a;
  return absl::FailedPreconditionError(
      absl::StrCat(how, ": rank ", first.rank, " ", DescribeOperation(first.operation, first.rank, size), ", rank ",
                   second.rank, " ", DescribeOperation(second.operation, second.rank, size)));
}

}  // namespace

bool MessagesMeet(const Operation& send, const Operation& recv) {
  return send.kind == OperationKind::kSend && recv.kind == OperationKind::kRecv && send.tag == recv.tag &&
         send.in.dtype == recv.out.dtype && send.in.count == recv.out.count;
}

absl::Status CheckStandings(const Standing& a, const Standing& b, int size) {
  const bool a_collects = IsCollective(a.operation.kind), b_collects = IsCollective(b.operation.kind);
  if (a_collects && b_collects) {
    if (a.collective != b.collective || FitTogether(a.operation, a.rank, b.operation, b.rank)) return absl::OkStatus();
    return Disagree("ranks called different things", a, b, size);
  }
  // Messages of a group do not hold up what is behind them.
  if ((!a_collects && a.operation.in_group > 0) || (!b_collects && b.operation.in_group > 0)) return absl::OkStatus();
  // A message concerns the other rank if it is the message's other end; a collective of the same place always does.
  const bool a_needs_b = a_collects ? a.collective == b.collective : a.operation.peer == b.rank;
  const bool b_needs_a = b_collects ? a.collective == b.collective : b.operation.peer == a.rank;
  if (!a_needs_b || !b_needs_a) return absl::OkStatus();
  if (MessagesMeet(a.operation, b.operation) || MessagesMeet(b.operation, a.operation)) return absl::OkStatus();
  return Disagree("each rank waits for what the other does later", a, b, size);
}

}  // namespace lockstep
