// On a terminal: whether the ranks are told of it, and the one progress line below the others.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "tools/ddprun/launch.h"
#include "tools/ddprun/monotonic_clock.h"
#include "tools/ddprun/pipe.h"

namespace lockstep::ddprun {
namespace {

class Terminal {
 public:
  Terminal() : screen_(posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC)) {
    char path[64] = "";
    EXPECT_EQ(grantpt(screen_.get()) + unlockpt(screen_.get()) + ptsname_r(screen_.get(), path, sizeof(path)), 0);
    path_ = path;
    keeps_open_ = FileDescriptor(open(path, O_RDWR | O_NOCTTY | O_CLOEXEC));  // else a moment without writers is an end
  }

  const std::string& path() const { return path_; }
  const std::string& written() const { return written_; }

  // Reads what is shown until it contains `text`; false after the deadline.
  bool WaitFor(absl::string_view text) {
    const absl::Duration deadline = MonotonicNow() + kDeadline;
    pollfd ready{screen_.get(), POLLIN, 0};
    while (!absl::StrContains(written_, text)) {
      if (poll(&ready, 1, static_cast<int>(absl::ToInt64Milliseconds(deadline - MonotonicNow()))) <= 0) return false;
      char chunk[4096];
      const ssize_t length = read(screen_.get(), chunk, sizeof(chunk));
      if (length <= 0) return false;
      written_.append(chunk, static_cast<size_t>(length));
    }
    return true;
  }

 private:
  FileDescriptor screen_;
  FileDescriptor keeps_open_;
  std::string path_;
  std::string written_;
};

LaunchPlan OnTerminal(LaunchPlan plan, absl::string_view streams, const Terminal& terminal) {
  plan.wrapper = {"/bin/sh", "-c", absl::StrCat("exec \"$@\" ", streams, terminal.path()), "sh"};
  return plan;
}

TEST(LockstepTty, IsSetWhenStderrIsATerminal) {
  Terminal terminal;
  EXPECT_EQ(RunDdprun(OnTerminal(ShellPlan(1, "echo tty=$LOCKSTEP_TTY"), "2>", terminal)).out, "[0] tty=1\n");
}

TEST(LockstepTty, IsNotSetWhenOnlyStdoutIsOne) {
  Terminal terminal;
  EXPECT_EQ(RunDdprun(OnTerminal(ShellPlan(1, "echo tty=$LOCKSTEP_TTY >&2"), ">", terminal)).err, "[0] tty=\n");
}

TEST(Progress, StandsBelowTheLinesAndGoesAway) {
  Terminal terminal;
  Pipe input;
  ASSERT_TRUE(OpenPipe(input).ok());
  constexpr char kScript[] = "printf '10%%\\r20%%' >&2; read word; echo line; read word; printf '\\r99%%\\n' >&2";
  LaunchPlan plan = OnTerminal(ShellPlan(1, kScript), "2>", terminal);
  absl::StrAppend(&plan.wrapper[2], " >&2");
  plan.input = input.read.get();
  Launch launch(plan);
  ASSERT_TRUE(terminal.WaitFor("[0] 20%")) << terminal.written();
  ASSERT_EQ(write(input.write.get(), "\n", 1), 1);
  ASSERT_TRUE(terminal.WaitFor("[0] 20%\r\x1b[K[0] line\r\n[0] 20%")) << terminal.written();
  input.write.Close();
  ASSERT_TRUE(terminal.WaitFor("[0] line\r\n[0] 20%\r\x1b[K[0] 99%\r\n")) << terminal.written();
  EXPECT_EQ(launch.Finish().exit_code, 0);
}

// A line that wraps could not be erased. The terminal of a test has no size, which counts as 80 columns.
TEST(Progress, IsCutAtTheWidthOfTheTerminal) {
  Terminal terminal;
  Launch launch(OnTerminal(ShellPlan(1, "head -c 300 /dev/zero | tr '\\0' x >&2; exec sleep 1000"), "2>", terminal));
  const std::string shown = absl::StrCat("[0] ", std::string(75, 'x'));
  ASSERT_TRUE(terminal.WaitFor(shown)) << terminal.written();
  launch.Signal(SIGTERM);
  EXPECT_TRUE(terminal.WaitFor(absl::StrCat(shown, "\r\x1b[K"))) << terminal.written();
}

}  // namespace
}  // namespace lockstep::ddprun
