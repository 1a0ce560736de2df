// ddprun starts the ranks of a job on this host. docs/ddprun.md is its manual; front.h tells how its two processes divide the
// work.
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_replace.h"
#include "absl/types/optional.h"
#include "tools/ddprun/front.h"
#include "tools/ddprun/launch_options.h"
#include "tools/ddprun/launch_signals.h"
#include "tools/ddprun/program_lookup.h"
#include "transports/net/port_holder.h"

namespace lockstep::ddprun {
namespace {

constexpr int kBadFlags = 2;
constexpr int kNotExecutable = 126;
constexpr int kNotFound = 127;

// One line, whatever the values that it quotes hold.
int Fail(int exit_code, const absl::Status& status) {
  const std::string line = absl::StrReplaceAll(status.message(), {{"\n", "\\n"}, {"\r", "\\r"}, {"\x1b", "\\e"}});
  fprintf(stderr, "ddprun: %s\n", line.c_str());
  return exit_code;
}

// A descriptor below 3 that is closed would be given to the next pipe, and a rank's exec would then mistake it for its own.
void OpenMissingStandardStreams() {
  for (int fd = 0; fd <= 2; ++fd) {
    if (fcntl(fd, F_GETFD) == -1) open("/dev/null", O_RDWR);
  }
}

std::vector<std::string> Environment() {
  std::vector<std::string> entries;
  for (char** entry = environ; *entry != nullptr; ++entry) entries.emplace_back(*entry);
  return entries;
}

NodePlace PlaceOf(const LaunchOptions& options, int master_port) {
  NodePlace place;
  place.node_rank = options.node_rank.value_or(0);
  place.nnodes = options.nnodes;
  place.nproc_per_node = options.nproc_per_node;
  place.master_addr = options.master_addr.empty() ? "127.0.0.1" : options.master_addr;
  place.master_port = master_port;
  place.on_terminal = isatty(STDERR_FILENO) == 1;
  return place;
}

int Main(const std::vector<std::string>& arguments) {
  const absl::StatusOr<LaunchOptions> options = ParseLaunchOptions(arguments);
  if (!options.ok()) return Fail(kBadFlags, options.status());
  if (options->help) return fputs(LaunchHelp().c_str(), stdout) < 0 ? 1 : 0;

  const char* search_path = getenv("PATH");
  const absl::StatusOr<std::string> program =
      FindProgram(options->command[0], search_path == nullptr ? "/usr/local/bin:/usr/bin:/bin" : search_path);
  if (absl::IsNotFound(program.status())) return Fail(kNotFound, program.status());
  if (!program.ok()) return Fail(kNotExecutable, program.status());

  absl::optional<PortHolder> holder;  // holds the port until the end, in both processes
  if (!options->master_port.has_value()) {
    absl::StatusOr<PortHolder> bound = PortHolder::BindFreePort();
    if (!bound.ok()) return Fail(1, bound.status());
    holder = std::move(*bound);
  }
  Job job;
  job.place = PlaceOf(*options, holder.has_value() ? holder->port() : *options->master_port);
  job.program = *program;
  job.arguments = options->command;
  job.inherited = Environment();
  job.grace_period = options->grace_period;
  if (LimitsOpenMpThreads(job.place, job.inherited)) {
    fputs("ddprun: OMP_NUM_THREADS is not set: each rank gets OMP_NUM_THREADS=1, so that they do not fight for cores\n",
          stderr);
  }
  return RunJob(job, LaunchSignals());
}

}  // namespace
}  // namespace lockstep::ddprun

int main(int argc, char** argv) {
  lockstep::ddprun::OpenMissingStandardStreams();
  return lockstep::ddprun::Main(std::vector<std::string>(argv + 1, argv + argc));
}
