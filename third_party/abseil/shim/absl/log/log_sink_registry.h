// Adding and removing log sinks. Thread-safe; a sink must outlive its registration.
#ifndef ABSL_LOG_LOG_SINK_REGISTRY_H_
#define ABSL_LOG_LOG_SINK_REGISTRY_H_

#include "absl/log/log_sink.h"

namespace absl {

void AddLogSink(LogSink* sink);
void RemoveLogSink(LogSink* sink);

}  // namespace absl

#endif  // ABSL_LOG_LOG_SINK_REGISTRY_H_
