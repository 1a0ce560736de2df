// A launch of ddprun as its users meet it, for tests: real processes, what they write, how they end.
//
//   Launch launch({{"--nproc_per_node=2", "/bin/sh", "-c", "echo up$RANK; exec sleep 1000"}});
//   ASSERT_TRUE(launch.WaitFor("[0] up0\n") && launch.WaitFor("[1] up1\n")) << launch.err();
//   launch.Signal(SIGTERM);
//   EXPECT_EQ(launch.Finish().exit_code, 128 + SIGTERM);
//
// Every wait is for an event, and fails after kDeadline, which only a broken launcher meets. Not thread-safe. Destroyed before
// its end it is killed.
#ifndef LOCKSTEP_TOOLS_DDPRUN_LAUNCH_H_
#define LOCKSTEP_TOOLS_DDPRUN_LAUNCH_H_

#include <sys/types.h>

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "tools/ddprun/pipe.h"

namespace lockstep::ddprun {

inline constexpr absl::Duration kDeadline = absl::Seconds(20);  // within the limit of a small test

struct LaunchPlan {
  std::vector<std::string> arguments;  // of ddprun
  // A command that runs ddprun with its arguments, e.g. {"/usr/bin/env", "-i"}.
  std::vector<std::string> wrapper = {};
  // A descriptor to be ddprun's stdin; -1: an empty one.
  int input = -1;
  // ddprun starts once the caller has closed this pipe's write end, so that several can start at one instant; null: at once.
  const Pipe* gate = nullptr;
};

struct Outcome {
  int exit_code = -1;  // 128 + the signal, if ddprun itself was killed
  std::string out;
  std::string err;
};

class Launch {
 public:
  explicit Launch(const LaunchPlan& plan);
  ~Launch();
  Launch(const Launch&) = delete;
  Launch& operator=(const Launch&) = delete;

  pid_t pid() const { return pid_; }
  void Signal(int signal_number) const;

  // Reads until `text` was written to stdout or stderr; false: everything ended without it, or the deadline passed.
  bool WaitFor(absl::string_view text);
  // Reads until ddprun and every process below it, whatever became of its parents and streams, have ended.
  bool WaitForAllToEnd();
  // WaitForAllToEnd() with a test failure if that takes too long, then how ddprun ended.
  Outcome Finish();

  // A reader who stops reading for a while, and one who goes away.
  void PauseReadingOut() { reads_out_ = false; }
  void ResumeReadingOut() { reads_out_ = true; }
  void CloseOut() { out_.fd.Close(); }

  const std::string& out() const { return out_.text; }
  const std::string& err() const { return err_.text; }

 private:
  struct Stream {
    FileDescriptor fd;
    std::string text;
  };

  [[noreturn]] void RunChild(const LaunchPlan& plan, Pipe& out, Pipe& err, Pipe& life) const;
  bool ReadSome(absl::Duration limit);
  static void ReadFrom(Stream& stream);

  pid_t pid_ = -1;
  Stream out_, err_;
  Stream life_;  // never written to; every process below holds its other end open until it ends
  bool reads_out_ = true;
};

// Launches, and waits for the end.
Outcome RunDdprun(const LaunchPlan& plan);
// `ranks` ranks that each run `script`.
Outcome RunShell(int ranks, absl::string_view script);
LaunchPlan ShellPlan(int ranks, absl::string_view script);

// The file of the target //tools/ddprun:`name`, which must be among the test's data.
std::string ProgramPath(absl::string_view name);

// The word that follows the first `label` in `text`: WordAfter("[0] pid=17 up\n", "pid=") is "17"; "" if there is none.
std::string WordAfter(absl::string_view text, absl::string_view label);
// The same as a number; 0 if there is none.
int NumberAfter(absl::string_view text, absl::string_view label);

}  // namespace lockstep::ddprun

#endif  // LOCKSTEP_TOOLS_DDPRUN_LAUNCH_H_
