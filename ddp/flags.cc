#include "ddp/flags.h"

#include <cstdint>
#include <string>

#include "absl/flags/flag.h"
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

// A count or rank that may be left to the environment: empty.
struct OptionalNumberFlag {
  absl::optional<int> number;
};

bool AbslParseFlag(absl::string_view text, OptionalNumberFlag* flag, std::string* error) {
  int number = 0;
  const bool valid = text.empty() || (absl::SimpleAtoi(text, &number) && number >= 0);
  if (valid) flag->number = text.empty() ? absl::nullopt : absl::make_optional(number);
  if (!valid) *error = "allowed: a whole number from 0 on, or nothing: the environment's";
  return valid;
}
std::string AbslUnparseFlag(const OptionalNumberFlag& flag) {
  return flag.number.has_value() ? absl::StrCat(*flag.number) : "";
}

struct TimeoutFlag {
  absl::Duration timeout;
};

bool AbslParseFlag(absl::string_view text, TimeoutFlag* flag, std::string* error) {
  absl::Duration timeout;
  const bool valid = absl::ParseDuration(text, &timeout) && timeout > absl::ZeroDuration();
  if (valid) flag->timeout = timeout;
  if (!valid) *error = "allowed: a duration of more than 0, with its unit: 90s, 10m, 1h30m";
  return valid;
}
std::string AbslUnparseFlag(const TimeoutFlag& flag) { return absl::FormatDuration(flag.timeout); }

struct SeedFlag {
  uint64_t seed = 0;
};

bool AbslParseFlag(absl::string_view text, SeedFlag* flag, std::string* error) {
  if (absl::SimpleAtoi(text, &flag->seed)) return true;
  *error = "allowed: a whole number from 0 to 2^64 - 1";
  return false;
}
std::string AbslUnparseFlag(const SeedFlag& flag) { return absl::StrCat(flag.seed); }

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
ABSL_FLAG(lockstep::OptionalNumberFlag, ddp_rank, lockstep::OptionalNumberFlag{},
          "this process' rank; wins over the environment");
ABSL_FLAG(lockstep::OptionalNumberFlag, ddp_world_size, lockstep::OptionalNumberFlag{},
          "number of ranks; wins over the environment");
ABSL_FLAG(lockstep::TimeoutFlag, ddp_timeout, lockstep::TimeoutFlag{absl::Minutes(10)},
          "for joining, and for every operation");
ABSL_FLAG(std::string, ddp_host_address, "", "the address by which peers reach this host; empty: found by itself");
ABSL_FLAG(lockstep::MegabytesFlag, ddp_first_bucket_mb, lockstep::MegabytesFlag{1},
          "megabytes (2^20 bytes) of gradients in the first bucket");
ABSL_FLAG(lockstep::MegabytesFlag, ddp_bucket_cap_mb, lockstep::MegabytesFlag{25},
          "megabytes (2^20 bytes) of gradients in every other bucket");
ABSL_FLAG(lockstep::SamplerMode, ddp_sampler_mode, lockstep::SamplerMode::kExact,
          "where samples do not divide by ranks: exact (each sample once), pad or drop_last (as PyTorch)");
ABSL_FLAG(lockstep::SamplerOrder, ddp_sampler_order, lockstep::SamplerOrder::kShuffled,
          "order of samples: shuffled, sequential, or torch (PyTorch's randperm)");
ABSL_FLAG(lockstep::SeedFlag, ddp_sampler_seed, lockstep::SeedFlag{}, "seed of the order; the same on all ranks");

namespace lockstep {

ProcessGroupOptions ProcessGroupOptionsFromFlags() {
  ProcessGroupOptions options;
  options.backend = absl::GetFlag(FLAGS_ddp_backend);
  options.init_method = absl::GetFlag(FLAGS_ddp_init_method);
  options.rank = absl::GetFlag(FLAGS_ddp_rank).number;
  options.world_size = absl::GetFlag(FLAGS_ddp_world_size).number;
  options.timeout = absl::GetFlag(FLAGS_ddp_timeout).timeout;
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
  options.seed = absl::GetFlag(FLAGS_ddp_sampler_seed).seed;
  return options;
}

}  // namespace lockstep
