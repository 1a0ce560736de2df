// Carries what the ranks of this node write to ddprun's own stdout and stderr, line by line.
//
// When one of ddprun's outputs is closed by its reader (| head), the ranks' pipes to it are closed as well: a rank that goes on
// writing learns of it as it would without a launcher, by SIGPIPE.
#ifndef LOCKSTEP_TOOLS_DDPRUN_RANK_OUTPUT_H_
#define LOCKSTEP_TOOLS_DDPRUN_RANK_OUTPUT_H_

#include <poll.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "tools/ddprun/console.h"
#include "tools/ddprun/line_relay.h"
#include "tools/ddprun/rank_process.h"
#include "transports/net/file_descriptor.h"

namespace lockstep::ddprun {

class RankOutput {
 public:
  RankOutput();

  // Takes over the ends that `process` writes to. Lines get the prefix "[rank] ".
  void AddRank(int rank, RankProcess& process, bool shows_progress);

  // Adds what to poll for: ranks that may have written (none whose output has no room left), outputs that have lines waiting.
  void Watch(std::vector<pollfd>& polled) const;
  // Reads from those that are ready (`polled`: any that poll reported on), then writes what can be written. Never waits.
  void Relay(absl::Span<const pollfd> polled);

  // Every process is gone: takes what is still in the pipes, and shows unfinished lines.
  void Finish();

  // Lines of ddprun itself, to stderr.
  void Notice(absl::string_view lines);
  // Notices what could not be written, if anything.
  void NoticeLosses();

  bool pending() const { return out_.pending() || error_console().pending(); }
  std::vector<std::string> LastLinesOf(int index) const { return last_lines_[index]->lines(); }

 private:
  struct Stream {
    FileDescriptor fd;
    Console* console;
    LineRelay relay;
  };

  Console& error_console() { return separate_error_.has_value() ? *separate_error_ : out_; }
  const Console& error_console() const { return separate_error_.has_value() ? *separate_error_ : out_; }
  void AddStream(FileDescriptor fd, Console& console, const std::string& prefix, bool shows_progress, LastLines& last_lines);
  // False: nothing was there.
  bool ReadSome(Stream& stream);
  void FlushConsoles();
  void CloseStreamsOfClosedConsoles();

  Console out_;
  absl::optional<Console> separate_error_;  // none if stderr is the same file as stdout
  std::vector<std::unique_ptr<LastLines>> last_lines_;
  std::vector<std::unique_ptr<Stream>> streams_;
  std::vector<char> bytes_;
};

}  // namespace lockstep::ddprun

#endif  // LOCKSTEP_TOOLS_DDPRUN_RANK_OUTPUT_H_
