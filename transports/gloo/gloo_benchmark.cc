// What this transport costs beyond Gloo: an f32 sum over N processes, through our communicator and through gloo::allreduce by its
// ring and by its bcube, on the same memory, in turns, so that all see the same machine. Each process is pinned to a core.
//
//   gloo_benchmark [--ranks=2] [Google Benchmark's flags]
//
// Argument: bytes. Counters: the medians of all three in microseconds, and `ratio`: ours to the faster one of Gloo's, the
// median over neighbouring turns. Every element of every result is checked.
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

constexpr absl::Duration kTimeout = absl::Minutes(1);

// What both ways share: connected once a process.
struct Rank {
  int rank = 0;
  int ranks = 0;
  std::unique_ptr<TcpStoreServer> server;
  std::unique_ptr<TcpStore> store;
  std::unique_ptr<Communicator> lockstep;
  std::shared_ptr<gloo::rendezvous::Context> gloo;
};
Rank* self = nullptr;

using Algorithm = gloo::AllreduceOptions::Algorithm;

enum Way { kLockstep, kRing, kBcube };
constexpr int kWays = 3;

void ReduceThroughLockstep(std::vector<float>& data) {
  const Buffer buffer = MakeBuffer(absl::MakeSpan(data));
  const absl::Status status = self->lockstep->AllReduce(buffer, buffer, ReduceOp::kSum).Wait();
  CHECK(status.ok()) << status;
}

void ReduceThroughGloo(std::vector<float>& data, Algorithm algorithm) {
  gloo::AllreduceOptions options(self->gloo);
  options.setOutput(data.data(), data.size());
  options.setAlgorithm(algorithm);
  options.setReduceFunction(static_cast<void (*)(void*, const void*, const void*, size_t)>(&gloo::sum<float>));
  gloo::allreduce(options);
}

absl::Duration TimeOf(Way way, std::vector<float>& data) {
  for (size_t i = 0; i < data.size(); ++i) data[i] = static_cast<float>((i + 1) % 1000 * (self->rank + 1));
  // All ranks begin at the same moment, or the earlier ones' wait would be measured.
  CHECK(self->lockstep->Barrier().Wait().ok());
  const absl::Time start = absl::Now();
  if (way == kLockstep) {
    ReduceThroughLockstep(data);
  } else {
    ReduceThroughGloo(data, way == kRing ? Algorithm::RING : Algorithm::BCUBE);
  }
  const absl::Duration time = absl::Now() - start;
  const int factor = self->ranks * (self->ranks + 1) / 2;
  for (size_t i = 0; i < data.size(); ++i) CHECK_EQ(data[i], static_cast<float>((i + 1) % 1000 * factor)) << i;
  return time;
}

double Median(std::vector<double> samples) {
  std::nth_element(samples.begin(), samples.begin() + samples.size() / 2, samples.end());
  return samples[samples.size() / 2];
}

void BM_AllReduceBesideGloo(benchmark::State& state) {
  std::vector<float> data(state.range(0) / sizeof(float));
  std::vector<double> us[kWays], to_ring, to_bcube;
  int turn = 0;
  for (auto _ : state) {
    double now[kWays];
    for (int i = 0; i < kWays; ++i) {
      const Way way = static_cast<Way>((turn + i) % kWays);
      now[way] = absl::ToDoubleMicroseconds(TimeOf(way, data));
      us[way].push_back(now[way]);
    }
    ++turn;
    state.SetIterationTime(now[kLockstep] * 1e-6);
    to_ring.push_back(now[kLockstep] / now[kRing]);
    to_bcube.push_back(now[kLockstep] / now[kBcube]);
  }
  state.counters["lockstep_us"] = Median(us[kLockstep]);
  state.counters["ring_us"] = Median(us[kRing]);
  state.counters["bcube_us"] = Median(us[kBcube]);
  state.counters["ratio"] = std::max(Median(to_ring), Median(to_bcube));
}
// As many iterations on all ranks: a count, not a time.
BENCHMARK(BM_AllReduceBesideGloo)->Arg(4)->Iterations(500)->UseManualTime()->Unit(benchmark::kMicrosecond);
BENCHMARK(BM_AllReduceBesideGloo)->Arg(1 << 10)->Iterations(500)->UseManualTime()->Unit(benchmark::kMicrosecond);
BENCHMARK(BM_AllReduceBesideGloo)->Arg(1 << 20)->Iterations(300)->UseManualTime()->Unit(benchmark::kMicrosecond);
BENCHMARK(BM_AllReduceBesideGloo)->Arg(25 << 20)->Iterations(45)->UseManualTime()->Unit(benchmark::kMicrosecond);

void PinTo(int core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(core % static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)), &set);
  sched_setaffinity(0, sizeof(set), &set);
}

// Threads made from here on inherit the core.
Rank Connect(int rank, int ranks, int port, const std::string& folder) {
  Rank result;
  result.rank = rank;
  result.ranks = ranks;
  result.store = TcpStore::Connect({"127.0.0.1", port}, kTimeout).value();
  ConnectOptions options;
  options.rank = rank;
  options.size = ranks;
  options.host = "127.0.0.1";
  result.lockstep = GlooTransport().Connect(*result.store, options).value();
  gloo::rendezvous::FileStore files(folder);
  auto device = gloo::transport::tcp::CreateDevice(gloo::transport::tcp::attr("127.0.0.1"));
  result.gloo = std::make_shared<gloo::rendezvous::Context>(rank, ranks);
  result.gloo->connectFullMesh(files, device);
  return result;
}

// Takes --ranks=N out of the arguments.
int RanksOf(int& argc, char** argv) {
  int ranks = 2;
  const auto is_ours = [&](const char* argument) { return std::sscanf(argument, "--ranks=%d", &ranks) == 1; };
  argc = static_cast<int>(std::remove_if(argv + 1, argv + argc, is_ours) - argv);
  CHECK(ranks >= 2 && ranks <= 64) << "--ranks=" << ranks;
  return ranks;
}

int Run(int argc, char** argv) {
  const int ranks = RanksOf(argc, argv);
  std::string folder = (std::filesystem::temp_directory_path() / "gloo_benchmark.XXXXXX").string();
  CHECK(mkdtemp(&folder[0]) != nullptr);  // which replaces the Xs
  int ports[2];
  CHECK_EQ(pipe(ports), 0);
  int rank = 0;
  std::vector<pid_t> peers;
  while (rank == 0 && static_cast<int>(peers.size()) < ranks - 1) {
    const pid_t peer = fork();
    if (peer == 0) rank = static_cast<int>(peers.size()) + 1;
    peers.push_back(peer);
  }
  PinTo(rank);
  std::unique_ptr<TcpStoreServer> server;
  int port = 0;
  if (rank == 0) {
    server = TcpStoreServer::Start({"127.0.0.1", 0}).value();
    port = server->port();
    for (size_t i = 0; i < peers.size(); ++i)
      CHECK_EQ(write(ports[1], &port, sizeof(port)), static_cast<ssize_t>(sizeof(port)));
  } else {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    CHECK_EQ(read(ports[0], &port, sizeof(port)), static_cast<ssize_t>(sizeof(port)));
    CHECK(std::freopen("/dev/null", "w", stdout) != nullptr);  // one report is enough
  }
  Rank connected = Connect(rank, ranks, port, folder);
  self = &connected;
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  CHECK(connected.lockstep->Barrier().Wait().ok());
  if (rank != 0) {
    std::fflush(nullptr);
    _exit(0);
  }
  bool all_well = true;
  for (const pid_t peer : peers) {
    int status = 0;
    waitpid(peer, &status, 0);
    all_well = all_well && status == 0;
  }
  std::filesystem::remove_all(folder);
  return all_well ? 0 : 1;
}

}  // namespace
}  // namespace lockstep

int main(int argc, char** argv) { return lockstep::Run(argc, argv); }
