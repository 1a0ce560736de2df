// One of ddprun's own outputs: whole lines in, and never a wait.
//
// A reader that stops reading (a pager, a terminal under ^S) must not keep the launcher from noticing that a rank died. So
// lines queue here, and are written only as far as the other end takes them at once; Full() asks the caller to read no more
// from the ranks, which then wait as if they wrote there themselves.
//
// On a terminal one progress line may stand below the lines: it is erased before a line and drawn again after it.
#ifndef LOCKSTEP_TOOLS_DDPRUN_CONSOLE_H_
#define LOCKSTEP_TOOLS_DDPRUN_CONSOLE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace lockstep::ddprun {

class Console {
 public:
  // Writes to `fd`, which it does not own.
  explicit Console(int fd);

  int fd() const { return fd_; }
  bool is_terminal() const { return is_terminal_; }

  // `line` is without its newline.
  void WriteLine(absl::string_view line);
  // What stands in the last line until it is replaced; empty: nothing. Only on a terminal; cut at its width.
  void SetProgress(absl::string_view text);
  // Draws the progress line again if a line or SetProgress made that necessary. Called once a round, not once a line.
  void DrawProgress();

  // Writes what can be written without waiting.
  void Flush();
  bool pending() const { return !queue_.empty(); }
  bool Full() const;

  // The other end is gone: what is written is dropped, and the ranks should learn of it.
  bool closed() const { return closed_; }
  // The first error that lost output though the other end is there (a full disk, say).
  const absl::Status& lost() const { return lost_; }

 private:
  bool Writable() const;
  void Append(absl::string_view bytes);

  const int fd_;
  const bool is_terminal_;
  std::string queue_;
  std::string progress_;
  std::string drawn_;  // the progress line that stands on the terminal once the queue is written
  bool closed_ = false;
  absl::Status lost_;
};

// Whether both descriptors lead to the same file, pipe or terminal, as after 2>&1. They then share one Console: with two, the
// halves of a long line could be parted by a line of the other.
bool SameFile(int a, int b);

}  // namespace lockstep::ddprun

#endif  // LOCKSTEP_TOOLS_DDPRUN_CONSOLE_H_
