// Receives every log statement of the process. Send may be called from any thread, several at a time.
#ifndef ABSL_LOG_LOG_SINK_H_
#define ABSL_LOG_LOG_SINK_H_

#include "absl/log/log_entry.h"

namespace absl {

class LogSink {
 public:
  virtual ~LogSink() = default;
  virtual void Send(const LogEntry& entry) = 0;
};

}  // namespace absl

#endif  // ABSL_LOG_LOG_SINK_H_
