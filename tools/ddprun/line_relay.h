// Turns what a rank writes on one stream into lines that carry the rank: "[2] epoch 1 loss 0.31".
//
// A line appears when it is complete, at its stream's end at the latest, so lines of several ranks never mix. Carriage
// returns are taken as a terminal takes them: "10%\r20%\r\n" is the line "20%". What an unfinished line shows is offered as
// progress, which Console draws on a terminal and drops elsewhere, so that a log file holds only what would have remained.
#ifndef LOCKSTEP_TOOLS_DDPRUN_LINE_RELAY_H_
#define LOCKSTEP_TOOLS_DDPRUN_LINE_RELAY_H_

#include <cstddef>
#include <deque>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "tools/ddprun/console.h"

namespace lockstep::ddprun {

// A longer line is shown as several, so that memory is bounded whatever a rank writes: two such lines a rank.
inline constexpr size_t kMaxLineBytes = 1 << 20;

// The last lines of a rank, both streams, for the report on its failure.
class LastLines {
 public:
  static constexpr size_t kLines = 10;
  static constexpr size_t kBytesOfALine = 500;  // more is cut: a report must fit on a screen

  void Add(absl::string_view line);
  std::vector<std::string> lines() const { return {lines_.begin(), lines_.end()}; }

 private:
  std::deque<std::string> lines_;
};

class LineRelay {
 public:
  // `shows_progress`: unfinished lines are offered to the console; for the two streams of one rank only, since there is one
  // progress line.
  LineRelay(std::string prefix, bool shows_progress, Console& console, LastLines& last_lines)
      : prefix_(std::move(prefix)), shows_progress_(shows_progress), console_(console), last_lines_(last_lines) {}

  // Bytes as they were read, cut anywhere.
  void Append(absl::string_view bytes);
  // The stream ended: shows an unfinished line. May be called again.
  void Finish();

 private:
  void AppendText(absl::string_view text);
  void CarriageReturn();
  void EndLine();
  void EmitLine(absl::string_view line);
  void OfferProgress();

  const std::string prefix_;
  const bool shows_progress_;
  Console& console_;
  LastLines& last_lines_;
  std::string line_;         // since the last line end or carriage return
  std::string overwritten_;  // before that carriage return: still visible until something is written over it
  bool offers_ = false;      // the console shows our unfinished line
  bool returned_ = false;    // the last byte was a carriage return, which a newline would make part of the line's end
};

}  // namespace lockstep::ddprun

#endif  // LOCKSTEP_TOOLS_DDPRUN_LINE_RELAY_H_
