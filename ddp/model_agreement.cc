#include "ddp/model_agreement.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status_macros.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/types/span.h"
#include "ddp/bucket_plan.h"
#include "ddp/digest.h"

namespace lockstep {
namespace {

using Description = std::vector<std::string>;

// What ranks compare first: equal digests and lengths mean equal descriptions.
struct Summary {
  uint64_t digest = 0;
  uint64_t bytes = 0;
};

std::string DescribeTensor(absl::string_view kind, size_t position, absl::string_view name, DType dtype,
                           absl::Span<const int64_t> shape, Device device) {
  return absl::StrCat(kind, " ", position, ": \"", name, "\" ", DTypeName(dtype), "[", absl::StrJoin(shape, ","), "]",
                      device.type == DeviceType::kCpu ? "" : " on a device");
}

absl::Status CheckTensor(absl::string_view kind, absl::string_view name, absl::Span<const int64_t> shape,
                         const Buffer& value, absl::flat_hash_set<std::string>& names) {
  if (name.empty())
    return absl::InvalidArgumentError(absl::StrCat("ddp: a ", kind, " has no name; give each one of its own"));
  if (!names.insert(std::string(name)).second) {
    return absl::InvalidArgumentError(absl::StrCat("ddp: two parameters or buffers are named \"", name,
                                                   "\"; names must be unique (tied weights are one parameter)"));
  }
  if (std::any_of(shape.begin(), shape.end(), [](int64_t d) { return d < 0; })) {
    return absl::InvalidArgumentError(
        absl::StrCat("ddp: ", kind, " \"", name, "\" has the shape [", absl::StrJoin(shape, ","), "]; dimensions are >= 0"));
  }
  if (value.count != ElementCount(shape)) {
    return absl::InvalidArgumentError(absl::StrCat("ddp: ", kind, " \"", name, "\" of shape [", absl::StrJoin(shape, ","),
                                                   "] has a value of ", value.count, " elements"));
  }
  return absl::OkStatus();
}

// What `rank` has in `line`, for the error.
std::string LineOf(int rank, const Description& description, size_t line) {
  if (line >= description.size())
    return absl::StrCat("rank ", rank, " has nothing more (", description.size() - 1, " in all)");
  return absl::StrCat("rank ", rank, " has ", description[line]);
}

absl::Status FirstDifference(const Description& zero, int rank, const Description& other) {
  size_t line = 0;
  while (line < zero.size() && line < other.size() && zero[line] == other[line]) ++line;
  return absl::FailedPreconditionError(absl::StrCat(
      "ddp: ranks 0 and ", rank, " train different models: ", LineOf(0, zero, line), ", ", LineOf(rank, other, line),
      ". All ranks must build the same model, in the same order, with the same options."));
}

// Everyone gets `root`'s description, whose length all know.
absl::StatusOr<Description> Share(Communicator& communicator, int root, const std::string& mine, uint64_t bytes) {
  std::string text = communicator.rank() == root ? mine : std::string(bytes, '\0');
  const Buffer buffer{&text[0], static_cast<int64_t>(text.size()), DType::kU8, Device()};
  ABSL_RETURN_IF_ERROR(communicator.Broadcast(buffer, root, {.name = "model description"}).Wait());
  return Description(absl::StrSplit(text, '\n'));
}

}  // namespace

absl::Status CheckModel(Model& model) {
  absl::flat_hash_set<std::string> names;
  bool trainable = false;
  const auto parameters = model.parameters();
  for (size_t i = 0; i < parameters.size(); ++i) {
    const ParameterInfo& p = parameters[i];
    ABSL_RETURN_IF_ERROR(CheckTensor("parameter", p.name, p.shape, model.ParameterValue(static_cast<int>(i)), names));
    if (!p.requires_grad) continue;
    trainable = true;
    if (p.dtype == DType::kF32 || p.dtype == DType::kF64) continue;
    // A step's report travels in a bucket's tail, as numbers that 16 bits do not hold.
    return absl::InvalidArgumentError(
        absl::StrCat("ddp: parameter \"", p.name, "\" is ", DTypeName(p.dtype), "; gradients are averaged in f32 or f64"));
  }
  const auto buffers = model.buffers();
  for (size_t i = 0; i < buffers.size(); ++i) {
    ABSL_RETURN_IF_ERROR(
        CheckTensor("buffer", buffers[i].name, buffers[i].shape, model.BufferValue(static_cast<int>(i)), names));
  }
  if (trainable) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("ddp: none of the model's ", parameters.size(), " parameters requires a gradient; nothing to average"));
}

Description DescribeModel(const Model& model, absl::string_view options) {
  Description lines = {absl::StrCat("options: ", options)};
  const auto parameters = model.parameters();
  for (size_t i = 0; i < parameters.size(); ++i) {
    const ParameterInfo& p = parameters[i];
    lines.push_back(absl::StrCat(DescribeTensor("parameter", i, p.name, p.dtype, p.shape, p.device),
                                 p.requires_grad ? "" : " without gradient"));
  }
  const auto buffers = model.buffers();
  for (size_t i = 0; i < buffers.size(); ++i) {
    const BufferInfo& b = buffers[i];
    lines.push_back(DescribeTensor("buffer", i, b.name, b.dtype, b.shape, b.device));
  }
  return lines;
}

absl::Status CheckAgreement(Communicator& communicator, const Description& description) {
  const std::string text = absl::StrJoin(description, "\n");
  const Summary mine = {Digest(text.data(), static_cast<int64_t>(text.size())), text.size()};
  std::vector<Summary> all(static_cast<size_t>(communicator.size()));
  const ConstBuffer in(&mine, 2, DType::kU64);
  const Buffer out{all.data(), 2 * static_cast<int64_t>(all.size()), DType::kU64, Device()};
  ABSL_RETURN_IF_ERROR(communicator.AllGather(in, out, {.name = "model digest"}).Wait());
  const auto differs = std::find_if(all.begin(), all.end(),
                                    [&](const Summary& s) { return s.digest != all[0].digest || s.bytes != all[0].bytes; });
  if (differs == all.end()) return absl::OkStatus();
  const int rank = static_cast<int>(differs - all.begin());
  ABSL_ASSIGN_OR_RETURN(const Description zero, Share(communicator, 0, text, all[0].bytes));
  ABSL_ASSIGN_OR_RETURN(const Description other, Share(communicator, rank, text, differs->bytes));
  return FirstDifference(zero, rank, other);
}

absl::Status BroadcastModel(Communicator& communicator, Model& model) {
  std::vector<std::pair<Work, absl::string_view>> works;
  const auto start = [&](absl::string_view name, Buffer value) {
    if (value.count > 0) works.emplace_back(communicator.Broadcast(value, 0, {.name = name}), name);
  };
  const auto parameters = model.parameters();
  for (size_t i = 0; i < parameters.size(); ++i) start(parameters[i].name, model.ParameterValue(static_cast<int>(i)));
  const auto buffers = model.buffers();
  for (size_t i = 0; i < buffers.size(); ++i) start(buffers[i].name, model.BufferValue(static_cast<int>(i)));
  for (const auto& [work, name] : works) ABSL_RETURN_IF_ERROR(work.Wait());
  return absl::OkStatus();
}

}  // namespace lockstep
