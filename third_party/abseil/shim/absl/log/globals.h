// Process-wide logging parameters. Thread-safe.
#ifndef ABSL_LOG_GLOBALS_H_
#define ABSL_LOG_GLOBALS_H_

#include "absl/base/log_severity.h"

namespace absl {

// Entries at or above this severity are written to stderr (WARNING unless told); sinks receive all of them.
LogSeverityAtLeast StderrThreshold();
void SetStderrThreshold(LogSeverityAtLeast severity);

// VLOG(n) is on for n <= this value (0 unless told). Returns the value before.
int SetGlobalVLogLevel(int level);

}  // namespace absl

#endif  // ABSL_LOG_GLOBALS_H_
