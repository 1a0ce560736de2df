// Runs a test's body on N ranks at once, as threads of this process over the in_process transport.
//
//   RunRanks(3, [](std::shared_ptr<ProcessGroup> group) {
//     EXPECT_TRUE(group->Barrier().ok());
//   });
//
// Returns when all ranks have. Operations time out after a minute, so that a broken engine fails the test instead of
// hanging.
#ifndef LOCKSTEP_DDP_TESTING_RANK_THREADS_H_
#define LOCKSTEP_DDP_TESTING_RANK_THREADS_H_

#include <functional>
#include <memory>

#include "absl/time/time.h"
#include "ddp/process_group.h"
#include "transports/testing/rank_threads.h"
#include "transports/transport.h"

namespace lockstep {

// `transport` (not owned) replaces in_process; one object serves all ranks.
void RunRanks(int world_size, const std::function<void(std::shared_ptr<ProcessGroup>)>& body, Transport* transport = nullptr,
              absl::Duration timeout = kTestDeadline);

}  // namespace lockstep

#endif  // LOCKSTEP_DDP_TESTING_RANK_THREADS_H_
