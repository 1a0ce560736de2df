// Runs a test's body on the ranks of a transport, as threads of this process that meet in one InProcessStore.
//
//   ConnectRanks(transport, 3, kTestDeadline, [](std::unique_ptr<Communicator> comm, std::shared_ptr<Store>) {
//     EXPECT_TRUE(comm->Barrier().Wait().ok());
//   });
//
// Returns when all bodies have; `timeout` is that of Connect and of operations, so a body that waits for its peers ends.
#ifndef LOCKSTEP_TRANSPORTS_TESTING_RANK_THREADS_H_
#define LOCKSTEP_TRANSPORTS_TESTING_RANK_THREADS_H_

#include <functional>
#include <memory>

#include "absl/time/time.h"
#include "transports/store/store.h"
#include "transports/transport.h"

namespace lockstep {

inline constexpr absl::Duration kTestDeadline = absl::Minutes(1);

void ConnectRanks(Transport& transport, int size, absl::Duration timeout,
                  const std::function<void(std::unique_ptr<Communicator>, std::shared_ptr<Store>)>& body);

}  // namespace lockstep

#endif  // LOCKSTEP_TRANSPORTS_TESTING_RANK_THREADS_H_
