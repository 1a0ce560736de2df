// The engine's command line, for programs that use Abseil flags: every flag, and the options structs filled from them.
//
//   absl::ParseCommandLine(argc, argv);
//   ABSL_ASSIGN_OR_RETURN(auto group, InitProcessGroup(ProcessGroupOptionsFromFlags()));
//
// Linking this target defines the flags --ddp_...; a program that wants none fills the structs itself and does not depend on
// it. A value that no option takes ends ParseCommandLine with one line that says what is allowed. Call the functions after
// ParseCommandLine; thread-safe.
#ifndef LOCKSTEP_DDP_FLAGS_H_
#define LOCKSTEP_DDP_FLAGS_H_

#include "ddp/distributed_data_parallel.h"
#include "ddp/init.h"
#include "ddp/sampler/distributed_sampler.h"

namespace lockstep {

// --ddp_backend, --ddp_init_method, --ddp_rank, --ddp_world_size, --ddp_timeout, --ddp_host_address
ProcessGroupOptions ProcessGroupOptionsFromFlags();

// --ddp_first_bucket_mb, --ddp_bucket_cap_mb
DdpOptions DdpOptionsFromFlags();

// --ddp_sampler_mode, --ddp_sampler_order, --ddp_sampler_seed
SamplerOptions SamplerOptionsFromFlags();

}  // namespace lockstep

#endif  // LOCKSTEP_DDP_FLAGS_H_
