#include "tools/ddprun/line_relay.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace lockstep::ddprun {

void LastLines::Add(absl::string_view line) {
  lines_.push_back(line.size() <= kBytesOfALine ? std::string(line) : absl::StrCat(line.substr(0, kBytesOfALine), "..."));
  if (lines_.size() > kLines) lines_.pop_front();
}

void LineRelay::Append(absl::string_view bytes) {
  while (!bytes.empty()) {
    const size_t end = std::min(bytes.find_first_of("\r\n"), bytes.size());
    if (end > 0) {
      AppendText(bytes.substr(0, end));
    } else if (bytes[0] == '\n') {
      EndLine();
    } else {
      CarriageReturn();
    }
    bytes.remove_prefix(std::max<size_t>(end, 1));
  }
  OfferProgress();
}

void LineRelay::OfferProgress() {
  if (!shows_progress_ || !console_.is_terminal()) return;
  const std::string& visible = line_.empty() ? overwritten_ : line_;
  if (visible.empty() && !offers_) return;  // the progress that stands there is the other stream's
  offers_ = !visible.empty();
  console_.SetProgress(offers_ ? absl::StrCat(prefix_, visible) : "");
}

void LineRelay::AppendText(absl::string_view text) {
  if (returned_) {
    overwritten_ = std::exchange(line_, "");
    returned_ = false;
  }
  while (!text.empty()) {
    if (line_.size() == kMaxLineBytes) EmitLine(std::exchange(line_, ""));
    const absl::string_view part = text.substr(0, kMaxLineBytes - line_.size());
    absl::StrAppend(&line_, part);
    text.remove_prefix(part.size());
  }
}

void LineRelay::CarriageReturn() { returned_ = !line_.empty(); }

void LineRelay::EndLine() {
  EmitLine(line_.empty() ? overwritten_ : line_);
  line_.clear();
  overwritten_.clear();
  returned_ = false;
}

void LineRelay::EmitLine(absl::string_view line) {
  console_.WriteLine(absl::StrCat(prefix_, line));
  last_lines_.Add(line);
}

void LineRelay::Finish() {
  if (!line_.empty() || !overwritten_.empty()) EndLine();
  OfferProgress();
}

}  // namespace lockstep::ddprun
