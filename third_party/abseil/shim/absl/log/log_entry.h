// What one log statement produced, as a LogSink sees it.
#ifndef ABSL_LOG_LOG_ENTRY_H_
#define ABSL_LOG_LOG_ENTRY_H_

#include "absl/base/log_severity.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace absl {

class LogEntry final {
 public:
  LogEntry(LogSeverity severity, const char* file, int line, int verbosity, Time time, string_view message)
      : severity_(severity), file_(file), line_(line), verbosity_(verbosity), time_(time), message_(message) {}

  LogSeverity log_severity() const { return severity_; }
  string_view source_filename() const { return file_; }
  string_view source_basename() const { return string_view(file_).substr(string_view(file_).rfind('/') + 1); }
  int source_line() const { return line_; }
  int verbosity() const { return verbosity_; }  // -1: not from VLOG
  Time timestamp() const { return time_; }
  string_view text_message() const { return message_; }

 private:
  LogSeverity severity_;
  const char* file_;
  int line_;
  int verbosity_;
  Time time_;
  string_view message_;
};

}  // namespace absl

#endif  // ABSL_LOG_LOG_ENTRY_H_
