// LOG(severity) and VLOG(level) of newer Abseil, for releases that lack them: the same names, the part that Lockstep uses.
//
//   LOG(WARNING) << "falling back to " << name;
//   VLOG(1) << "ddp: buckets=" << n;
//
// Thread-safe. FATAL ends the program after the message is written.
#ifndef ABSL_LOG_LOG_H_
#define ABSL_LOG_LOG_H_

#include <sstream>

#include "absl/base/log_severity.h"

namespace absl {
namespace log_shim {

// Collects one message and delivers it when it is destroyed, at the end of the statement.
class Message {
 public:
  Message(LogSeverity severity, const char* file, int line, int verbosity = -1);
  ~Message() noexcept(false);
  std::ostream& stream() { return stream_; }

 private:
  std::ostringstream stream_;
  LogSeverity severity_;
  const char* file_;
  int line_;
  int verbosity_;
};

struct Voidify {
  void operator&(std::ostream&) const {}
};

bool VLogIsOn(int level);

}  // namespace log_shim
}  // namespace absl

#define LOCKSTEP_SHIM_SEVERITY_INFO absl::LogSeverity::kInfo
#define LOCKSTEP_SHIM_SEVERITY_WARNING absl::LogSeverity::kWarning
#define LOCKSTEP_SHIM_SEVERITY_ERROR absl::LogSeverity::kError
#define LOCKSTEP_SHIM_SEVERITY_FATAL absl::LogSeverity::kFatal

#define LOCKSTEP_SHIM_LOG_IF_(condition, severity) \
  !(condition)                                     \
      ? (void)0                                    \
      : absl::log_shim::Voidify() & absl::log_shim::Message(LOCKSTEP_SHIM_SEVERITY_##severity, __FILE__, __LINE__).stream()

#define LOG(severity) LOCKSTEP_SHIM_LOG_IF_(true, severity)
#define LOG_IF(severity, condition) LOCKSTEP_SHIM_LOG_IF_(condition, severity)
#define VLOG_IS_ON(level) absl::log_shim::VLogIsOn(level)
#define VLOG(level)  \
  !VLOG_IS_ON(level) \
      ? (void)0      \
      : absl::log_shim::Voidify() & absl::log_shim::Message(absl::LogSeverity::kInfo, __FILE__, __LINE__, level).stream()

#endif  // ABSL_LOG_LOG_H_
