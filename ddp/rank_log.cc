#include "ddp/rank_log.h"

#include <unistd.h>

#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/log/globals.h"
#include "absl/log/log.h"
#include "absl/log/log_entry.h"
#include "absl/log/log_sink.h"
#include "absl/log/log_sink_registry.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace lockstep {
namespace {

// Takes the place of Abseil's own writing to stderr.
class RankSink : public absl::LogSink {
 public:
  void Become(const RankInfo& info) {
    {
      absl::MutexLock lock(&mu_);
      who_ = absl::StrCat("rank ", info.rank, "/", info.world_size, " ", info.host);
      if (installed_) return;
      installed_ = true;
      threshold_ = absl::StderrThreshold();
    }
    // Without the lock: Abseil holds its own while it calls Send.
    absl::SetStderrThreshold(absl::LogSeverityAtLeast::kInfinity);
    absl::AddLogSink(this);
  }

  void Send(const absl::LogEntry& entry) override {
    absl::MutexLock lock(&mu_);
    if (static_cast<int>(entry.log_severity()) < static_cast<int>(threshold_)) return;
    const std::string head = absl::StrCat(absl::string_view(absl::LogSeverityName(entry.log_severity()), 1),
                                          absl::FormatTime("%m%d %H:%M:%E3S", entry.timestamp(), absl::LocalTimeZone()), " ",
                                          entry.source_basename(), ":", entry.source_line(), " ", who_, "] ");
    std::string lines;
    for (const absl::string_view line : absl::StrSplit(entry.text_message(), '\n'))
      absl::StrAppend(&lines, head, line, "\n");
    Write(lines);
  }

 private:
  // One write(2) where the kernel takes it whole, so that lines of several ranks on one pipe do not mix.
  static void Write(absl::string_view text) {
    while (!text.empty()) {
      const ssize_t written = write(STDERR_FILENO, text.data(), text.size());
      if (written <= 0) return;
      text.remove_prefix(static_cast<size_t>(written));
    }
  }

  absl::Mutex mu_;
  bool installed_ ABSL_GUARDED_BY(mu_) = false;
  absl::LogSeverityAtLeast threshold_ ABSL_GUARDED_BY(mu_) = absl::LogSeverityAtLeast::kWarning;
  std::string who_ ABSL_GUARDED_BY(mu_);
};

}  // namespace

void PrefixLogLines(const RankInfo& info) {
  static RankSink* const sink = new RankSink;  // never destroyed: lines are logged until the process ends
  sink->Become(info);
}

void LogOnRankZero(const ProcessGroup& group, absl::LogSeverity severity, absl::string_view text) {
  if (group.rank() != 0) return;
  switch (severity) {
    case absl::LogSeverity::kInfo:
      LOG(INFO) << text;
      return;
    case absl::LogSeverity::kWarning:
      LOG(WARNING) << text;
      return;
    default:
      LOG(ERROR) << text;
  }
}

}  // namespace lockstep
