#include "transports/gloo/call_record.h"

#include <algorithm>
#include <string>
#include <vector>

#include "google/protobuf/repeated_field.h"

namespace lockstep {
namespace {

template <typename Enum>
Enum EnumOf(int32_t number, int how_many) {
  return static_cast<Enum>(std::min(std::max(number, 0), how_many - 1));
}

Parts PartsOf(const google::protobuf::RepeatedField<int64_t>& counts, int size) {
  std::vector<int64_t> all(counts.begin(), counts.end());
  all.resize(static_cast<size_t>(size));
  return Parts(absl::MakeConstSpan(all));
}

}  // namespace

gloo_wire::Call RecordCall(const Operation& operation, int64_t collective, int size) {
  gloo_wire::Call call;
  call.set_kind(static_cast<int32_t>(operation.kind));
  call.set_op(static_cast<int32_t>(operation.op));
  call.set_dtype(static_cast<int32_t>(DTypeOf(operation)));
  call.set_in_count(operation.in.count);
  call.set_out_count(operation.out.count);
  call.set_peer(operation.peer);
  call.set_tag(operation.tag);
  call.set_name(std::string(operation.Name()));
  call.set_sequence(operation.sequence);
  call.set_collective(collective);
  call.set_in_group(operation.in_group);
  for (int rank = 0; rank < size; ++rank) {
    call.add_parts(operation.parts.count(rank));
    call.add_in_parts(operation.in_parts.count(rank));
  }
  return call;
}

Operation OperationOf(const gloo_wire::Call& call, int size) {
  Operation operation;
  operation.kind = EnumOf<OperationKind>(call.kind(), kNumOperationKinds);
  operation.op = EnumOf<ReduceOp>(call.op(), kNumReduceOps);
  const DType dtype = EnumOf<DType>(call.dtype(), kNumDTypes);
  operation.in = ConstBuffer(nullptr, call.in_count(), dtype);
  operation.out = Buffer{nullptr, call.out_count(), dtype, Device()};
  operation.peer = call.peer();
  operation.tag = call.tag();
  operation.SetName(call.name());
  operation.sequence = call.sequence();
  operation.in_group = call.in_group();
  operation.parts = PartsOf(call.parts(), size);
  operation.in_parts = PartsOf(call.in_parts(), size);
  return operation;
}

}  // namespace lockstep
