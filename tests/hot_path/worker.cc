// The program that hot_path_test watches: two ranks, as threads, average gradients over the transport named in argv[1].
// Prints one line of counts. From the second step on is "steady".
#include <pthread.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/status_macros.h"
#include "absl/strings/str_cat.h"
#include "ddp/buffer_model.h"
#include "ddp/distributed_data_parallel.h"
#include "ddp/process_group.h"
#include "tests/hot_path/call_counter.h"
#include "tests/hot_path/syscall_tracer.h"
#include "transports/registry.h"
#include "transports/store/in_process_store.h"

namespace lockstep {
namespace {

constexpr int kWorld = 2;
constexpr int kParameters = 6;
constexpr int kElements = 1 << 12;
constexpr int kSteadySteps = 20;

std::atomic<int64_t> hook_allocations{0}, hook_locks{0}, rank_allocations{0}, rank_copied_bytes{0}, buckets{0};
CallCounts before, after;
pthread_barrier_t meeting;

// All ranks stand still while one looks at the counts of the whole program.
void AtOnce(int rank, CallCounts& counts, TraceMark mark) {
  pthread_barrier_wait(&meeting);
  if (rank == 0) {
    counts = CountsOfProcess();
    MarkForTracer(mark);
  }
  pthread_barrier_wait(&meeting);
}

void Hook(const std::function<void()>& hook) {
  const CallCounts entered = CountsOfThread();
  MarkForTracer(TraceMark::kHookBegin);
  hook();
  MarkForTracer(TraceMark::kHookEnd);
  const CallCounts left = CountsOfThread();
  hook_allocations += left.allocations - entered.allocations;
  hook_locks += left.locks - entered.locks;
}

absl::Status Step(DistributedDataParallel& ddp, BufferModel& model) {
  DdpStep step = ddp.BeginStep();
  for (int p = kParameters - 1; p >= 0; --p) {
    for (float& g : model.Gradient<float>(p)) g = 1;
    Hook([&] { model.MarkReady(p); });
  }
  Hook([&] { model.EndBackward(); });
  return step.Finish();
}

absl::Status RunRank(int rank, const std::string& backend, std::shared_ptr<Store> store) {
  ABSL_ASSIGN_OR_RETURN(std::unique_ptr<Transport> transport, CreateTransport(backend));
  ConnectOptions connect;
  connect.rank = rank;
  connect.size = kWorld;
  connect.timeout = absl::Minutes(2);
  connect.host = "127.0.0.1";
  ABSL_ASSIGN_OR_RETURN(std::unique_ptr<Communicator> communicator, transport->Connect(*store, connect));
  RankInfo info;
  info.rank = rank;
  info.world_size = kWorld;
  auto group = std::make_shared<ProcessGroup>(info, backend, std::move(communicator), store);

  std::vector<std::vector<float>> values(kParameters, std::vector<float>(kElements));
  BufferModel model;
  for (int p = 0; p < kParameters; ++p) {
    model.AddParameter(absl::StrCat("p", p), {kElements}, MakeBuffer(absl::MakeSpan(values[p])));
  }
  ABSL_ASSIGN_OR_RETURN(auto ddp, DistributedDataParallel::Create(group, model, {1, 1}));
  ABSL_RETURN_IF_ERROR(Step(ddp, model));  // the first step may still warm up
  hook_allocations = hook_locks = 0;
  const int64_t buckets_before = ddp.stats().buckets_reduced;
  AtOnce(rank, before, TraceMark::kSteadyBegin);
  const CallCounts own_before = CountsOfThread();
  for (int step = 0; step < kSteadySteps; ++step) ABSL_RETURN_IF_ERROR(Step(ddp, model));
  rank_allocations += CountsOfThread().allocations - own_before.allocations;
  rank_copied_bytes += CountsOfThread().copied_bytes - own_before.copied_bytes;
  AtOnce(rank, after, TraceMark::kSteadyEnd);
  buckets += ddp.stats().buckets_reduced - buckets_before;
  return absl::OkStatus();
}

int Main(const std::string& backend) {
  if (!CallsAreCounted()) {
    std::fprintf(stderr, "hot path: a call that is to be counted is not; see call_counter.cc\n");
    return 3;
  }
  pthread_barrier_init(&meeting, nullptr, kWorld);
  auto store = std::make_shared<InProcessStore>();
  std::vector<std::thread> ranks;
  for (int rank = 0; rank < kWorld; ++rank) {
    ranks.emplace_back([&, rank] {
      const absl::Status status = RunRank(rank, backend, store);
      if (status.ok()) return;
      std::fprintf(stderr, "rank %d: %s\n", rank, status.ToString().c_str());
      std::_Exit(1);
    });
  }
  for (std::thread& rank : ranks) rank.join();
  std::printf(
      "hook_allocations=%lld hook_locks=%lld rank_allocations=%lld rank_copied_bytes=%lld all_allocations=%lld "
      "buckets=%lld\n",
      static_cast<long long>(hook_allocations), static_cast<long long>(hook_locks), static_cast<long long>(rank_allocations),
      static_cast<long long>(rank_copied_bytes), static_cast<long long>(after.allocations - before.allocations),
      static_cast<long long>(buckets));
  return 0;
}

}  // namespace
}  // namespace lockstep

int main(int argc, char** argv) { return argc == 2 ? lockstep::Main(argv[1]) : 2; }
