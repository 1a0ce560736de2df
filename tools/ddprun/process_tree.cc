#include "tools/ddprun/process_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <memory>
#include <set>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "tools/ddprun/monotonic_clock.h"
#include "transports/net/file_descriptor.h"

namespace lockstep::ddprun {
namespace {

constexpr int kRescanMilliseconds = 20;  // between two looks for children that were born while the first killed

// "4242 (a name) with) parens) S 4200 4242 ..."
absl::optional<ProcessInfo> ReadProcess(pid_t pid) {
  const FileDescriptor file(open(absl::StrCat("/proc/", pid, "/stat").c_str(), O_RDONLY | O_CLOEXEC));
  char text[512];  // a name has at most 64 bytes, what follows up to the group far less than the rest
  const ssize_t length = file.open() ? read(file.get(), text, sizeof(text) - 1) : -1;
  if (length <= 0) return absl::nullopt;  // it ended meanwhile
  text[length] = '\0';
  const size_t name_end = absl::string_view(text, length).rfind(')');
  ProcessInfo info;
  info.pid = pid;
  if (name_end == absl::string_view::npos) return absl::nullopt;
  if (sscanf(text + name_end + 1, " %*c %d %d", &info.parent, &info.group) != 2) return absl::nullopt;
  return info;
}

bool ProcShowsThisNamespace() {
  char target[32];
  const ssize_t length = readlink("/proc/self", target, sizeof(target));
  return length > 0 && absl::string_view(target, length) == absl::StrCat(getpid());
}

std::vector<ProcessInfo> AllProcesses() {
  std::vector<ProcessInfo> processes;
  if (!ProcShowsThisNamespace()) return processes;
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir("/proc"), closedir);
  if (folder == nullptr) return processes;
  while (const dirent* entry = readdir(folder.get())) {
    pid_t pid = 0;
    if (!absl::SimpleAtoi(entry->d_name, &pid)) continue;
    if (const auto process = ReadProcess(pid)) processes.push_back(*process);
  }
  return processes;
}

void ReapAll() {
  while (waitpid(-1, nullptr, WNOHANG) > 0) {
  }
}

}  // namespace

absl::Status BecomeSubreaper() {
  if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0) return absl::OkStatus();
  return absl::ErrnoToStatus(errno, "cannot adopt the ranks' own children (PR_SET_CHILD_SUBREAPER)");
}

std::vector<ProcessInfo> Descendants() {
  const std::vector<ProcessInfo> all = AllProcesses();
  std::vector<ProcessInfo> found;
  std::set<pid_t> known = {getpid()};
  for (size_t before = 0; before != known.size();) {  // a child may be listed before its parent
    before = known.size();
    for (const ProcessInfo& process : all) {
      if (known.count(process.parent) != 0 && known.insert(process.pid).second) found.push_back(process);
    }
  }
  return found;
}

bool HasChildren() {
  siginfo_t info{};
  return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

bool EndDescendants(absl::Duration limit) {
  const absl::Duration deadline = MonotonicNow() + limit;
  for (ReapAll(); HasChildren(); ReapAll()) {
    if (MonotonicNow() > deadline) return false;
    for (const ProcessInfo& process : Descendants()) kill(process.pid, SIGKILL);
    poll(nullptr, 0, kRescanMilliseconds);
  }
  return true;
}

}  // namespace lockstep::ddprun
