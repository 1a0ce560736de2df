// What this transport tells at once and more exactly than the conformance suite asks of every transport.
#include "transports/in_process/in_process_transport.h"

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status_matchers.h"
#include "absl/synchronization/notification.h"
#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "transports/testing/rank_threads.h"

namespace lockstep {
namespace {

using ::absl_testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

void RunRanks(int size, const std::function<void(std::unique_ptr<Communicator>)>& body) {
  InProcessTransport transport;
  ConnectRanks(transport, size, kTestDeadline,
               [&](std::unique_ptr<Communicator> communicator, std::shared_ptr<Store>) { body(std::move(communicator)); });
}

template <typename T>
Buffer View(std::vector<T>& v) {
  return MakeBuffer(absl::MakeSpan(v));
}

TEST(InProcess, MessagesOfOtherTagsAreAnErrorOnBothAtOnce) {
  RunRanks(2, [](std::unique_ptr<Communicator> comm) {
    std::vector<float> data = {comm->rank() == 0 ? 5.0f : 0.0f};
    const Work work = comm->rank() == 0 ? comm->Send(View(data), 1, 7) : comm->Recv(View(data), 0, 7);
    ABSL_ASSERT_OK(work.Wait());
    EXPECT_EQ(data[0], 5);
    const Work wrong = comm->rank() == 0 ? comm->Send(View(data), 1, 8) : comm->Recv(View(data), 0, 9);
    EXPECT_THAT(wrong.Wait(),
                StatusIs(absl::StatusCode::kFailedPrecondition, AllOf(HasSubstr("tag 8"), HasSubstr("tag 9"))));
  });
}

TEST(InProcess, RanksThatCallDifferentThingsAreToldAtOnce) {
  RunRanks(3, [](std::unique_ptr<Communicator> comm) {
    std::vector<float> data(comm->rank() == 2 ? 5 : 4);
    EXPECT_THAT(comm->AllReduce(View(data), View(data), ReduceOp::kSum, {.name = "loss"}).Wait(),
                StatusIs(absl::StatusCode::kFailedPrecondition, AllOf(HasSubstr("all_reduce \"loss\""), HasSubstr("f32[4]"),
                                                                      HasSubstr("rank 2"), HasSubstr("f32[5]"))));
    EXPECT_THAT(comm->Barrier().Wait(), StatusIs(absl::StatusCode::kFailedPrecondition));
  });
}

TEST(InProcess, TheLastOperationOfARankThatDoesNotComeIsNamed) {
  absl::Notification seen;
  RunRanks(3, [&](std::unique_ptr<Communicator> comm) {
    ABSL_ASSERT_OK(comm->Barrier({.name = "start"}).Wait());
    if (comm->rank() != 0) return seen.WaitForNotification();  // here, but not coming
    {
      EXPECT_THAT(comm->Barrier({.name = "lost", .timeout = absl::Milliseconds(50)}).Wait(),
                  StatusIs(absl::StatusCode::kDeadlineExceeded,
                           AllOf(HasSubstr("\"lost\""), HasSubstr("rank 1's last was barrier \"start\""))));
    }
    seen.Notify();
  });
}

}  // namespace
}  // namespace lockstep
