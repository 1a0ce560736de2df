#include "tests/hot_path/syscall_tracer.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <map>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace lockstep {
namespace {

// getpriority with a `which` that no kernel knows: EINVAL, and recognised by the tracer.
constexpr int kMarkWhich = 0x10c57e9;

std::string SyscallName(uint64_t number) {
  static const std::map<uint64_t, std::string> names = {{SYS_futex, "futex"},
                                                        {SYS_read, "read"},
                                                        {SYS_write, "write"},
                                                        {SYS_readv, "readv"},
                                                        {SYS_writev, "writev"},
                                                        {SYS_sendmsg, "sendmsg"},
                                                        {SYS_recvmsg, "recvmsg"},
                                                        {SYS_sendto, "sendto"},
                                                        {SYS_recvfrom, "recvfrom"},
                                                        {SYS_epoll_wait, "epoll_wait"},
                                                        {SYS_epoll_pwait, "epoll_pwait"},
                                                        {SYS_epoll_ctl, "epoll_ctl"},
                                                        {SYS_poll, "poll"},
                                                        {SYS_sched_yield, "sched_yield"},
                                                        {SYS_restart_syscall, "restart_syscall"},
                                                        {SYS_getpriority, "getpriority"},
                                                        {SYS_nanosleep, "nanosleep"},
                                                        {SYS_clock_nanosleep, "clock_nanosleep"},
                                                        {SYS_mmap, "mmap"},
                                                        {SYS_munmap, "munmap"},
                                                        {SYS_brk, "brk"},
                                                        {SYS_madvise, "madvise"},
                                                        {SYS_openat, "openat"},
                                                        {SYS_close, "close"},
                                                        {SYS_clone, "clone"}};
  const auto it = names.find(number);
  return it == names.end() ? absl::StrCat("syscall ", number) : it->second;
}

class Tracer {
 public:
  explicit Tracer(pid_t root) : root_(root) {}

  absl::StatusOr<TraceResult> Run() {
    int status = 0;
    if (waitpid(root_, &status, 0) != root_ || !WIFSTOPPED(status)) {
      return absl::UnavailableError("the traced program did not stop at its start; ptrace is not allowed here");
    }
    const long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_EXITKILL;
    if (ptrace(PTRACE_SETOPTIONS, root_, nullptr, options) != 0) {
      return absl::UnavailableError(absl::StrCat("ptrace: ", strerror(errno)));
    }
    Resume(root_, 0);
    while (true) {
      const pid_t thread = waitpid(-1, &status, __WALL);
      if (thread < 0) return absl::InternalError(absl::StrCat("waitpid: ", strerror(errno)));
      if (WIFEXITED(status) || WIFSIGNALED(status)) {
        if (thread != root_) continue;
        result_.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        return result_;
      }
      OnStop(thread, WSTOPSIG(status), status >> 16);
    }
  }

 private:
  void OnStop(pid_t thread, int signal, int event) {
    if (signal == (SIGTRAP | 0x80)) {
      OnSyscall(thread);
      return Resume(thread, 0);
    }
    const bool own = event != 0 || signal == SIGSTOP || signal == SIGTRAP;  // of the tracing itself
    Resume(thread, own ? 0 : signal);
  }

  void OnSyscall(pid_t thread) {
    __ptrace_syscall_info call;
    if (ptrace(PTRACE_GET_SYSCALL_INFO, thread, sizeof(call), &call) <= 0) return;
    if (call.op != PTRACE_SYSCALL_INFO_ENTRY) return;
    if (call.entry.nr == SYS_getpriority && call.entry.args[0] == kMarkWhich) {
      return OnMark(thread, static_cast<TraceMark>(call.entry.args[1]));
    }
    if (!steady_) return;
    ++result_.in_steady[SyscallName(call.entry.nr)];
    if (in_hook_[thread]) ++result_.in_hooks[SyscallName(call.entry.nr)];
  }

  void OnMark(pid_t thread, TraceMark mark) {
    if (mark == TraceMark::kSteadyBegin || mark == TraceMark::kSteadyEnd) {
      steady_ = mark == TraceMark::kSteadyBegin;
      return;
    }
    in_hook_[thread] = mark == TraceMark::kHookBegin;
    if (in_hook_[thread] && steady_) ++result_.hooks;
  }

  static void Resume(pid_t thread, int signal) { ptrace(PTRACE_SYSCALL, thread, nullptr, static_cast<long>(signal)); }

  const pid_t root_;
  bool steady_ = false;
  std::map<pid_t, bool> in_hook_;
  TraceResult result_;
};

[[noreturn]] void RunTraced(const std::vector<std::string>& command, int output) {
  std::vector<char*> argv;
  for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  dup2(output, STDOUT_FILENO);
  if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) _exit(125);
  raise(SIGSTOP);
  execv(argv[0], argv.data());
  _exit(126);
}

}  // namespace

void MarkForTracer(TraceMark mark) { syscall(SYS_getpriority, kMarkWhich, static_cast<int>(mark)); }

absl::StatusOr<TraceResult> TraceSyscalls(const std::vector<std::string>& command) {
  std::array<int, 2> pipe_ends;
  if (pipe2(pipe_ends.data(), O_CLOEXEC) != 0) return absl::InternalError("pipe2");
  const pid_t child = fork();
  if (child < 0) return absl::InternalError("fork");
  if (child == 0) RunTraced(command, pipe_ends[1]);
  close(pipe_ends[1]);
  absl::StatusOr<TraceResult> result = Tracer(child).Run();
  char chunk[4096];  // the program writes less than a pipe holds
  ssize_t n;
  while (result.ok() && (n = read(pipe_ends[0], chunk, sizeof(chunk))) > 0) {
    result->output.append(chunk, static_cast<size_t>(n));
  }
  close(pipe_ends[0]);
  return result;
}

}  // namespace lockstep
