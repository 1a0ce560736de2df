// Log lines that say which rank of which host wrote them, and lines that N ranks write once.
#ifndef LOCKSTEP_DDP_RANK_LOG_H_
#define LOCKSTEP_DDP_RANK_LOG_H_

#include "absl/base/log_severity.h"
#include "absl/strings/string_view.h"
#include "ddp/process_group.h"

namespace lockstep {

// From now on, every line that this process logs through Abseil begins with its rank and host:
//   W1203 10:15:00.123 trainer.cc:42 rank 1/4 host-a] text
// InitProcessGroup calls it. The severity from which lines are written stays what it was. A later call replaces what the
// earlier one said. Thread-safe.
void PrefixLogLines(const RankInfo& info);

// Logs `text` on rank 0, and nothing elsewhere. Thread-safe.
void LogOnRankZero(const ProcessGroup& group, absl::LogSeverity severity, absl::string_view text);

}  // namespace lockstep

#endif  // LOCKSTEP_DDP_RANK_LOG_H_
