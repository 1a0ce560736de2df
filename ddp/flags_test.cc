// The flags through Abseil's own parser: defaults are those of the structs, and each bad value is one clear line.
#include "ddp/flags.h"

#include <string>

#include "absl/flags/commandlineflag.h"
#include "absl/flags/reflection.h"
#include "absl/types/optional.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

// The error of setting `flag` to `value` as the command line does; empty if it was taken.
std::string SetFlag(const std::string& flag, const std::string& value) {
  absl::CommandLineFlag* const found = absl::FindCommandLineFlag(flag);
  if (found == nullptr) return "no such flag";
  std::string error;
  return found->ParseFrom(value, &error) ? "" : error;
}

TEST(Flags, DefaultsAreThoseOfTheOptions) {
  const ProcessGroupOptions group = ProcessGroupOptionsFromFlags(), plain_group;
  EXPECT_EQ(group.backend, plain_group.backend);
  EXPECT_EQ(group.init_method, plain_group.init_method);
  EXPECT_EQ(group.rank, plain_group.rank);
  EXPECT_EQ(group.world_size, plain_group.world_size);
  EXPECT_EQ(group.timeout, plain_group.timeout);
  EXPECT_EQ(group.host_address, plain_group.host_address);
  EXPECT_EQ(DdpOptionsFromFlags().first_bucket_bytes, DdpOptions().first_bucket_bytes);
  EXPECT_EQ(DdpOptionsFromFlags().bucket_cap_bytes, DdpOptions().bucket_cap_bytes);
  EXPECT_EQ(SamplerOptionsFromFlags().mode, SamplerOptions().mode);
  EXPECT_EQ(SamplerOptionsFromFlags().order, SamplerOptions().order);
  EXPECT_EQ(SamplerOptionsFromFlags().seed, SamplerOptions().seed);
}

TEST(Flags, ValuesReachTheOptions) {
  const absl::FlagSaver saver;
  EXPECT_EQ(SetFlag("ddp_backend", "in_process"), "");
  EXPECT_EQ(SetFlag("ddp_rank", "3"), "");
  EXPECT_EQ(SetFlag("ddp_world_size", "4"), "");
  EXPECT_EQ(SetFlag("ddp_timeout", "90s"), "");
  EXPECT_EQ(SetFlag("ddp_first_bucket_mb", "0.00390625"), "");
  EXPECT_EQ(SetFlag("ddp_bucket_cap_mb", "50"), "");
  EXPECT_EQ(SetFlag("ddp_sampler_mode", "drop_last"), "");
  EXPECT_EQ(SetFlag("ddp_sampler_order", "torch"), "");
  EXPECT_EQ(SetFlag("ddp_sampler_seed", "18446744073709551615"), "");
  EXPECT_EQ(ProcessGroupOptionsFromFlags().backend, "in_process");
  EXPECT_EQ(ProcessGroupOptionsFromFlags().rank, 3);
  EXPECT_EQ(ProcessGroupOptionsFromFlags().world_size, 4);
  EXPECT_EQ(ProcessGroupOptionsFromFlags().timeout, absl::Seconds(90));
  EXPECT_EQ(DdpOptionsFromFlags().first_bucket_bytes, 4096);
  EXPECT_EQ(DdpOptionsFromFlags().bucket_cap_bytes, 50 << 20);
  EXPECT_EQ(SamplerOptionsFromFlags().mode, SamplerMode::kDropLast);
  EXPECT_EQ(SamplerOptionsFromFlags().order, SamplerOrder::kTorch);
  EXPECT_EQ(SamplerOptionsFromFlags().seed, ~uint64_t{0});
}

TEST(Flags, AnEmptyRankIsTheEnvironments) {
  const absl::FlagSaver saver;
  EXPECT_EQ(SetFlag("ddp_rank", "3"), "");
  EXPECT_EQ(SetFlag("ddp_rank", ""), "");
  EXPECT_EQ(ProcessGroupOptionsFromFlags().rank, absl::nullopt);
}

TEST(Flags, EachBadValueIsRefusedAndSaysWhatIsAllowed) {
  const absl::FlagSaver saver;
  const struct {
    const char* flag;
    const char* value;
    const char* error;
  } kCases[] = {
      {"ddp_rank", "two", "allowed: a whole number"},
      {"ddp_rank", "-1", "allowed: a whole number"},
      {"ddp_rank", "99999999999", "allowed: a whole number"},
      {"ddp_world_size", "2.5", "allowed: a whole number"},
      {"ddp_timeout", "soon", "allowed: a duration"},
      {"ddp_timeout", "", "allowed: a duration"},
      {"ddp_timeout", "10", "with its unit"},
      {"ddp_timeout", "0s", "more than 0"},
      {"ddp_timeout", "-3s", "more than 0"},
      {"ddp_first_bucket_mb", "", "allowed: a number of megabytes"},
      {"ddp_first_bucket_mb", "0", "allowed: a number of megabytes"},
      {"ddp_bucket_cap_mb", "-1", "allowed: a number of megabytes"},
      {"ddp_bucket_cap_mb", "nan", "allowed: a number of megabytes"},
      {"ddp_bucket_cap_mb", "inf", "allowed: a number of megabytes"},
      {"ddp_bucket_cap_mb", "25MB", "allowed: a number of megabytes"},
      {"ddp_bucket_cap_mb", "1e30", "allowed: a number of megabytes"},
      {"ddp_sampler_mode", "Exact", "allowed: exact, pad, drop_last"},
      {"ddp_sampler_mode", "", "allowed: exact, pad, drop_last"},
      {"ddp_sampler_order", "random", "allowed: shuffled, sequential, torch"},
      {"ddp_sampler_seed", "-1", "allowed: a whole number from 0 to 2^64 - 1"},
      {"ddp_sampler_seed", "18446744073709551616", "allowed: a whole number from 0 to 2^64 - 1"},
  };
  for (const auto& c : kCases) {
    EXPECT_THAT(SetFlag(c.flag, c.value), testing::HasSubstr(c.error)) << "--" << c.flag << "=" << c.value;
  }
}

}  // namespace
}  // namespace lockstep
