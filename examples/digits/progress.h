// A progress line: redrawn in place on a terminal, and now and then a line of its own in a log file.
//
//   Progress progress(ProgressStyleOf(rank));
//   progress.Update("epoch 3/20  41%");              // redraws, at most ten times a second; a log gets nothing
//   progress.Milestone("epoch 3/20  loss 0.412");    // redraws; a log gets it, but no two within two seconds
//   progress.Finish();                               // what was said last stays, also in a log
//
// One thread.
#ifndef LOCKSTEP_EXAMPLES_DIGITS_PROGRESS_H_
#define LOCKSTEP_EXAMPLES_DIGITS_PROGRESS_H_

#include <functional>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace digits {

enum class ProgressStyle {
  kSilent,    // another rank shows it
  kTerminal,  // one line, redrawn
  kLog,
};

// What suits this process: rank 0 writes to stderr if that is a terminal or, as LOCKSTEP_TTY=1 tells, its launcher passes it on
// to one.
ProgressStyle ProgressStyleOf(int rank);

class Progress {
 public:
  // `write` gets what stderr would, by default that itself.
  explicit Progress(ProgressStyle style, std::function<void(absl::string_view)> write = WriteToStderr,
                    std::function<absl::Time()> now = absl::Now);
  // Finishes, so that an error begins on a line of its own.
  ~Progress() { Finish(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void Update(absl::string_view text);
  void Milestone(absl::string_view text);
  void Finish();

 private:
  static void WriteToStderr(absl::string_view text);
  void Redraw(absl::string_view text);

  const ProgressStyle style_;
  const std::function<void(absl::string_view)> write_;
  const std::function<absl::Time()> now_;
  absl::Time last_ = absl::InfinitePast();  // when something was written
  std::string drawn_;                       // kTerminal: what stands in the line; empty: nothing
  std::string unsaid_;                      // kLog: the last milestone, if it was not written
};

}  // namespace digits

#endif  // LOCKSTEP_EXAMPLES_DIGITS_PROGRESS_H_
