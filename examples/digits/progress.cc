#include "examples/digits/progress.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <utility>

namespace digits {
namespace {

constexpr absl::Duration kRedrawEvery = absl::Milliseconds(100);  // faster is unreadable, and costs the launcher work
constexpr absl::Duration kLogEvery = absl::Seconds(2);

}  // namespace

ProgressStyle ProgressStyleOf(int rank) {
  if (rank != 0) return ProgressStyle::kSilent;
  const char* const launcher = std::getenv("LOCKSTEP_TTY");
  const bool terminal = launcher != nullptr ? absl::string_view(launcher) == "1" : isatty(STDERR_FILENO) == 1;
  return terminal ? ProgressStyle::kTerminal : ProgressStyle::kLog;
}

Progress::Progress(ProgressStyle style, std::function<void(absl::string_view)> write, std::function<absl::Time()> now)
    : style_(style), write_(std::move(write)), now_(std::move(now)) {}

void Progress::Update(absl::string_view text) {
  if (style_ == ProgressStyle::kTerminal && now_() - last_ >= kRedrawEvery) Redraw(text);
}

void Progress::Milestone(absl::string_view text) {
  if (style_ == ProgressStyle::kTerminal) Redraw(text);
  if (style_ != ProgressStyle::kLog) return;
  unsaid_ = std::string(text);
  if (now_() - last_ < kLogEvery) return;
  write_(unsaid_ + "\n");
  unsaid_.clear();
  last_ = now_();
}

void Progress::Finish() {
  if (!drawn_.empty()) write_("\n");
  if (!unsaid_.empty()) write_(unsaid_ + "\n");
  drawn_.clear();
  unsaid_.clear();
}

// Spaces cover what a longer line left behind; an escape code would do too, but not on every terminal and launcher.
void Progress::Redraw(absl::string_view text) {
  std::string line = "\r" + std::string(text);
  if (drawn_.size() > text.size()) line.append(drawn_.size() - text.size(), ' ');
  write_(line);
  drawn_ = std::string(text);
  last_ = now_();
}

void Progress::WriteToStderr(absl::string_view text) { std::fwrite(text.data(), 1, text.size(), stderr); }

}  // namespace digits
