// What this transport costs beyond Gloo: an f32 sum over two processes, through our communicator and through gloo::allreduce
// with the same ring, on the same memory, in turns, so that both see the same machine. Each process is pinned to one core.
//
// Argument: bytes. Counters: the medians of both, in microseconds, and the median of the ratios of neighbouring turns. Every
// element of every result is checked.
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/log/check.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "benchmark/benchmark.h"
#include "gloo/allreduce.h"
#include "gloo/math.h"
#include "gloo/rendezvous/context.h"
#include "gloo/rendezvous/file_store.h"
#include "gloo/transport/tcp/device.h"
#include "transports/gloo/gloo_transport.h"
#include "transports/store/tcp_store.h"
#include "transports/store/tcp_store_server.h"

namespace lockstep {
namespace {

constexpr int kRanks = 2;
constexpr absl::Duration kTimeout = absl::Minutes(1);

// What both ways share: connected once a process.
struct Rank {
  int rank = 0;
  std::unique_ptr<TcpStoreServer> server;
  std::unique_ptr<TcpStore> store;
  std::unique_ptr<Communicator> lockstep;
  std::shared_ptr<gloo::rendezvous::Context> gloo;
};
Rank* self = nullptr;

absl::Duration TimeOf(absl::FunctionRef<void()> body) {
  const absl::Time start = absl::Now();
  body();
  return absl::Now() - start;
}

absl::Duration ReduceThroughLockstep(std::vector<float>& data) {
  const Buffer buffer = MakeBuffer(absl::MakeSpan(data));
  return TimeOf([&] {
    const absl::Status status = self->lockstep->AllReduce(buffer, buffer, ReduceOp::kSum).Wait();
    CHECK(status.ok()) << status;
  });
}

absl::Duration ReduceThroughGloo(std::vector<float>& data) {
  return TimeOf([&] {
    gloo::AllreduceOptions options(self->gloo);
    options.setOutput(data.data(), data.size());
    options.setAlgorithm(gloo::AllreduceOptions::Algorithm::RING);
    options.setReduceFunction(static_cast<void (*)(void*, const void*, const void*, size_t)>(&gloo::sum<float>));
    gloo::allreduce(options);
  });
}

void Fill(std::vector<float>& data) {
  for (size_t i = 0; i < data.size(); ++i) data[i] = static_cast<float>((i + 1) % 1000 * (self->rank + 1));
}

void CheckSums(const std::vector<float>& data) {
  for (size_t i = 0; i < data.size(); ++i) CHECK_EQ(data[i], static_cast<float>((i + 1) % 1000 * 3)) << i;
}

double Median(std::vector<double> samples) {
  std::nth_element(samples.begin(), samples.begin() + samples.size() / 2, samples.end());
  return samples[samples.size() / 2];
}

void BM_AllReduceBesideGloo(benchmark::State& state) {
  std::vector<float> data(state.range(0) / sizeof(float));
  std::vector<double> lockstep_us, gloo_us, ratios;
  bool ours_first = false;
  for (auto _ : state) {
    absl::Duration ours, theirs;
    ours_first = !ours_first;
    for (const bool lockstep : {ours_first, !ours_first}) {
      Fill(data);
      // Both ranks begin at the same moment, or the earlier one's wait would be measured.
      CHECK(self->lockstep->Barrier().Wait().ok());
      (lockstep ? ours : theirs) = lockstep ? ReduceThroughLockstep(data) : ReduceThroughGloo(data);
      CheckSums(data);
    }
    state.SetIterationTime(absl::ToDoubleSeconds(ours));
    lockstep_us.push_back(absl::ToDoubleMicroseconds(ours));
    gloo_us.push_back(absl::ToDoubleMicroseconds(theirs));
    ratios.push_back(absl::FDivDuration(ours, theirs));
  }
  state.counters["lockstep_us"] = Median(lockstep_us);
  state.counters["gloo_us"] = Median(gloo_us);
  state.counters["ratio"] = Median(ratios);
}
// As many iterations on both ranks: a count, not a time.
BENCHMARK(BM_AllReduceBesideGloo)->Arg(1 << 10)->Iterations(500)->UseManualTime()->Unit(benchmark::kMicrosecond);
BENCHMARK(BM_AllReduceBesideGloo)->Arg(1 << 20)->Iterations(600)->UseManualTime()->Unit(benchmark::kMicrosecond);
BENCHMARK(BM_AllReduceBesideGloo)->Arg(25 << 20)->Iterations(60)->UseManualTime()->Unit(benchmark::kMicrosecond);

void PinTo(int core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(core % static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)), &set);
  sched_setaffinity(0, sizeof(set), &set);
}

// Threads made from here on inherit the core.
Rank Connect(int rank, int port, const std::string& folder) {
  Rank result;
  result.rank = rank;
  result.store = TcpStore::Connect({"127.0.0.1", port}, kTimeout).value();
  ConnectOptions options;
  options.rank = rank;
  options.size = kRanks;
  options.host = "127.0.0.1";
  result.lockstep = GlooTransport().Connect(*result.store, options).value();
  gloo::rendezvous::FileStore files(folder);
  auto device = gloo::transport::tcp::CreateDevice(gloo::transport::tcp::attr("127.0.0.1"));
  result.gloo = std::make_shared<gloo::rendezvous::Context>(rank, kRanks);
  result.gloo->connectFullMesh(files, device);
  return result;
}

int Run(int argc, char** argv) {
  std::string folder = (std::filesystem::temp_directory_path() / "gloo_benchmark.XXXXXX").string();
  CHECK(mkdtemp(&folder[0]) != nullptr);  // which replaces the Xs
  int ports[2];
  CHECK_EQ(pipe(ports), 0);
  const pid_t peer = fork();
  const int rank = peer == 0 ? 1 : 0;
  PinTo(rank);
  std::unique_ptr<TcpStoreServer> server;
  int port = 0;
  if (rank == 0) {
    server = TcpStoreServer::Start({"127.0.0.1", 0}).value();
    port = server->port();
    CHECK_EQ(write(ports[1], &port, sizeof(port)), static_cast<ssize_t>(sizeof(port)));
  } else {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    CHECK_EQ(read(ports[0], &port, sizeof(port)), static_cast<ssize_t>(sizeof(port)));
    CHECK(std::freopen("/dev/null", "w", stdout) != nullptr);  // one report is enough
  }
  Rank connected = Connect(rank, port, folder);
  self = &connected;
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  CHECK(connected.lockstep->Barrier().Wait().ok());
  if (rank == 1) {
    std::fflush(nullptr);
    _exit(0);
  }
  int status = 0;
  waitpid(peer, &status, 0);
  std::filesystem::remove_all(folder);
  return status == 0 ? 0 : 1;
}

}  // namespace
}  // namespace lockstep

int main(int argc, char** argv) { return lockstep::Run(argc, argv); }
