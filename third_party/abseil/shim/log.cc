#include "absl/log/log.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/log/globals.h"
#include "absl/log/log_entry.h"
#include "absl/log/log_sink.h"
#include "absl/log/log_sink_registry.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"

namespace absl {
namespace {

std::atomic<int> stderr_threshold{static_cast<int>(LogSeverity::kWarning)};
std::atomic<int> vlog_level{0};

struct Sinks {
  Mutex mu;
  std::vector<LogSink*> list ABSL_GUARDED_BY(mu);
};

Sinks& GlobalSinks() {
  static Sinks* const sinks = new Sinks;
  return *sinks;
}

// One write(2) a line, so that lines of several processes on one pipe do not mix.
void WriteToStderr(const LogEntry& entry) {
  std::string line = StrCat(string_view(LogSeverityName(entry.log_severity()), 1),
                            FormatTime("%m%d %H:%M:%E3S", entry.timestamp(), LocalTimeZone()), " ", entry.source_basename(),
                            ":", entry.source_line(), "] ", entry.text_message(), "\n");
  string_view rest = line;
  while (!rest.empty()) {
    const ssize_t written = write(STDERR_FILENO, rest.data(), rest.size());
    if (written <= 0) return;
    rest.remove_prefix(static_cast<size_t>(written));
  }
}

}  // namespace

namespace log_shim {

Message::Message(LogSeverity severity, const char* file, int line, int verbosity)
    : severity_(severity), file_(file), line_(line), verbosity_(verbosity) {}

Message::~Message() noexcept(false) {
  const std::string text = stream_.str();
  const LogEntry entry(severity_, file_, line_, verbosity_, Now(), text);
  if (static_cast<int>(severity_) >= stderr_threshold.load(std::memory_order_relaxed)) WriteToStderr(entry);
  {
    MutexLock lock(&GlobalSinks().mu);
    for (LogSink* sink : GlobalSinks().list) sink->Send(entry);
  }
  if (severity_ == LogSeverity::kFatal) std::abort();
}

bool VLogIsOn(int level) { return level <= vlog_level.load(std::memory_order_relaxed); }

}  // namespace log_shim

void AddLogSink(LogSink* sink) {
  MutexLock lock(&GlobalSinks().mu);
  GlobalSinks().list.push_back(sink);
}

void RemoveLogSink(LogSink* sink) {
  MutexLock lock(&GlobalSinks().mu);
  auto& list = GlobalSinks().list;
  list.erase(std::remove(list.begin(), list.end(), sink), list.end());
}

LogSeverityAtLeast StderrThreshold() { return static_cast<LogSeverityAtLeast>(stderr_threshold.load()); }
void SetStderrThreshold(LogSeverityAtLeast severity) { stderr_threshold.store(static_cast<int>(severity)); }
int SetGlobalVLogLevel(int level) { return vlog_level.exchange(level); }

}  // namespace absl
