#include "tools/ddprun/rank_process.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <cerrno>
#include <utility>

#include "absl/status/status_macros.h"
#include "tools/ddprun/monotonic_clock.h"
#include "tools/ddprun/pipe.h"

namespace lockstep::ddprun {
namespace {

std::vector<char*> Pointers(const std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  pointers.reserve(strings.size() + 1);
  for (const std::string& text : strings) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

// What the child needs between fork and exec, prepared before: there it may not allocate.
struct Exec {
  const char* program;
  char* const* arguments;
  char* const* environment;
  int input, output, error, failure;
  pid_t parent;
};

[[noreturn]] void RunChild(const Exec& exec, const LaunchSignals& signals) {
  setsid();
  prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  // The parent may have died before prctl; then no signal will come.
  if (getppid() != exec.parent) _exit(1);
  if (exec.input >= 0) dup2(exec.input, STDIN_FILENO);
  dup2(exec.output, STDOUT_FILENO);
  dup2(exec.error, STDERR_FILENO);
  signals.Restore();
  execve(exec.program, exec.arguments, exec.environment);
  const int failure = errno;
  const ssize_t ignored = write(exec.failure, &failure, sizeof(failure));
  _exit(ignored == sizeof(failure) ? 126 : 1);
}

int OpenDeathDescriptor(pid_t pid) { return static_cast<int>(syscall(SYS_pidfd_open, pid, 0)); }

}  // namespace

absl::StatusOr<RankProcess> RankProcess::Start(const RankCommand& command, const LaunchSignals& signals) {
  Pipe output, error, failure;
  ABSL_RETURN_IF_ERROR(OpenPipe(output));
  ABSL_RETURN_IF_ERROR(OpenPipe(error));
  ABSL_RETURN_IF_ERROR(OpenPipe(failure));
  FileDescriptor input;
  if (!command.inherits_stdin) {
    input = FileDescriptor(open("/dev/null", O_RDONLY | O_CLOEXEC));
    if (!input.open()) return absl::ErrnoToStatus(errno, "cannot open /dev/null");
  }
  const std::vector<char*> arguments = Pointers(command.arguments);
  const std::vector<char*> environment = Pointers(command.environment);
  const Exec exec = {command.program.c_str(), arguments.data(),  environment.data(),  input.get(),
                     output.write.get(),      error.write.get(), failure.write.get(), getpid()};
  RankProcess process;
  process.pid_ = fork();
  if (process.pid_ < 0) return absl::ErrnoToStatus(errno, "cannot start a process (limit: ulimit -u)");
  if (process.pid_ == 0) RunChild(exec, signals);
  process.death_ = FileDescriptor(OpenDeathDescriptor(process.pid_));
  process.output_ = std::move(output.read);
  process.error_ = std::move(error.read);
  process.exec_error_ = std::move(failure.read);
  return process;
}

void RankProcess::Reap() {
  int wait_status = 0;
  if (ending_.has_value() || waitpid(pid_, &wait_status, WNOHANG) != pid_) return;
  Ending ending;
  ending.wait_status = wait_status;
  ending.at = MonotonicNow();
  // Its write end closed on exec or with the process: this never waits.
  if (read(exec_error_.get(), &ending.exec_error, sizeof(ending.exec_error)) != sizeof(ending.exec_error)) {
    ending.exec_error = 0;
  }
  exec_error_.Close();
  death_.Close();
  ending_ = ending;
}

void RankProcess::Signal(int signal_number) const {
  if (ending_.has_value()) return;
  // Before it has called setsid there is no such group.
  if (kill(-pid_, signal_number) != 0) kill(pid_, signal_number);
}

}  // namespace lockstep::ddprun
