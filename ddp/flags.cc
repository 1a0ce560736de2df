#include "ddp/flags.h"

#include <cstdint>
#include <string>

#include "absl/flags/flag.h"
#include "absl/flags/marshalling.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"

namespace lockstep {

// A size in units of 2^20 bytes; fractions are allowed.
struct MegabytesFlag {
  double megabytes = 0;
  int64_t bytes() const { return static_cast<int64_t>(megabytes * (1 << 20)); }
};

bool AbslParseFlag(absl::string_view text, MegabytesFlag* flag, std::string* error) {
  double megabytes = 0;
  const bool valid = absl::SimpleAtod(text, &megabytes) && megabytes >= 1e-6 && megabytes <= 1 << 20;
  if (valid) flag->megabytes = megabytes;
  if (!valid) *error = "allowed: a number of megabytes (2^20 bytes) from 0.000001 to 1048576";
  return valid;
}
std::string AbslUnparseFlag(const MegabytesFlag& flag) { return absl::StrCat(flag.megabytes); }

bool AbslParseFlag(absl::string_view text, SamplerMode* mode, std::string* error) {
  for (const SamplerMode known : {SamplerMode::kExact, SamplerMode::kPad, SamplerMode::kDropLast}) {
    if (text != SamplerModeName(known)) continue;
    *mode = known;
    return true;
  }
  *error = "allowed: exact, pad, drop_last";
  return false;
}
std::string AbslUnparseFlag(SamplerMode mode) { return std::string(SamplerModeName(mode)); }

namespace {
struct NamedOrder {
  SamplerOrder order;
  absl::string_view name;
};
constexpr NamedOrder kOrders[] = {
    {SamplerOrder::kShuffled, "shuffled"}, {SamplerOrder::kSequential, "sequential"}, {SamplerOrder::kTorch, "torch"}};
}  // namespace

bool AbslParseFlag(absl::string_view text, SamplerOrder* order, std::string* error) {
  for (const NamedOrder& known : kOrders) {
    if (text != known.name) continue;
    *order = known.order;
    return true;
  }
  *error = "allowed: shuffled, sequential, torch";
  return false;
}
std::string AbslUnparseFlag(SamplerOrder order) {
  for (const NamedOrder& known : kOrders) {
    if (order == known.order) return std::string(known.name);
  }
  return "";
}

}  // namespace lockstep

ABSL_FLAG(std::string, ddp_backend, "gloo", "transport between ranks, one of those linked in; a group of one uses none");
ABSL_FLAG(std::string, ddp_init_method, "env://",
          "how ranks find each other: env:// (the launcher's environment) or tcp://host:port?rank=R&world_size=N");
ABSL_FLAG(absl::optional<int>, ddp_rank, absl::nullopt, "this process' rank; wins over the environment");
ABSL_FLAG(absl::optional<int>, ddp_world_size, absl::nullopt, "number of ranks; wins over the environment");
ABSL_FLAG(absl::Duration, ddp_timeout, absl::Minutes(10), "for joining, and for every operation");
ABSL_FLAG(std::string, ddp_host_address, "", "the address by which peers reach this host; empty: found by itself");
ABSL_FLAG(lockstep::MegabytesFlag, ddp_first_bucket_mb, lockstep::MegabytesFlag{1},
          "megabytes (2^20 bytes) of gradients in the first bucket");
ABSL_FLAG(lockstep::MegabytesFlag, ddp_bucket_cap_mb, lockstep::MegabytesFlag{25},
          "megabytes (2^20 bytes) of gradients in every other bucket");
ABSL_FLAG(lockstep::SamplerMode, ddp_sampler_mode, lockstep::SamplerMode::kExact,
          "where samples do not divide by ranks: exact (each sample once), pad or drop_last (as PyTorch)");
ABSL_FLAG(lockstep::SamplerOrder, ddp_sampler_order, lockstep::SamplerOrder::kShuffled,
          "order of samples: shuffled, sequential, or torch (PyTorch's randperm)");
ABSL_FLAG(uint64_t, ddp_sampler_seed, 0, "seed of the order; the same on all ranks");

namespace lockstep {

ProcessGroupOptions ProcessGroupOptionsFromFlags() {
  ProcessGroupOptions options;
  options.backend = absl::GetFlag(FLAGS_ddp_backend);
  options.init_method = absl::GetFlag(FLAGS_ddp_init_method);
  options.rank = absl::GetFlag(FLAGS_ddp_rank);
  options.world_size = absl::GetFlag(FLAGS_ddp_world_size);
  options.timeout = absl::GetFlag(FLAGS_ddp_timeout);
  options.host_address = absl::GetFlag(FLAGS_ddp_host_address);
  return options;
}

DdpOptions DdpOptionsFromFlags() {
  DdpOptions options;
  options.first_bucket_bytes = absl::GetFlag(FLAGS_ddp_first_bucket_mb).bytes();
  options.bucket_cap_bytes = absl::GetFlag(FLAGS_ddp_bucket_cap_mb).bytes();
  return options;
}

SamplerOptions SamplerOptionsFromFlags() {
  SamplerOptions options;
  options.mode = absl::GetFlag(FLAGS_ddp_sampler_mode);
  options.order = absl::GetFlag(FLAGS_ddp_sampler_order);
  options.seed = absl::GetFlag(FLAGS_ddp_sampler_seed);
  return options;
}

}  // namespace lockstep
