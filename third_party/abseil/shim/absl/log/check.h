// CHECK and its kin: invariants of our own that end the program, with the values printed.
#ifndef ABSL_LOG_CHECK_H_
#define ABSL_LOG_CHECK_H_

#include "absl/log/log.h"

#define CHECK(condition) LOCKSTEP_SHIM_LOG_IF_(!(condition), FATAL) << "Check failed: " #condition " "

#define LOCKSTEP_SHIM_CHECK_OP_(a, op, b) \
  LOCKSTEP_SHIM_LOG_IF_(!((a)op(b)), FATAL) << "Check failed: " #a " " #op " " #b " (" << (a) << " vs. " << (b) << ") "

#define CHECK_EQ(a, b) LOCKSTEP_SHIM_CHECK_OP_(a, ==, b)
#define CHECK_NE(a, b) LOCKSTEP_SHIM_CHECK_OP_(a, !=, b)
#define CHECK_LE(a, b) LOCKSTEP_SHIM_CHECK_OP_(a, <=, b)
#define CHECK_LT(a, b) LOCKSTEP_SHIM_CHECK_OP_(a, <, b)
#define CHECK_GE(a, b) LOCKSTEP_SHIM_CHECK_OP_(a, >=, b)
#define CHECK_GT(a, b) LOCKSTEP_SHIM_CHECK_OP_(a, >, b)
#define CHECK_OK(status) LOCKSTEP_SHIM_LOG_IF_(!(status).ok(), FATAL) << "Check failed: " #status " is OK "

#ifdef NDEBUG
#define LOCKSTEP_SHIM_DCHECK_ while (false)
#else
#define LOCKSTEP_SHIM_DCHECK_
#endif
#define DCHECK(condition) LOCKSTEP_SHIM_DCHECK_ CHECK(condition)
#define DCHECK_EQ(a, b) LOCKSTEP_SHIM_DCHECK_ CHECK_EQ(a, b)
#define DCHECK_NE(a, b) LOCKSTEP_SHIM_DCHECK_ CHECK_NE(a, b)
#define DCHECK_LE(a, b) LOCKSTEP_SHIM_DCHECK_ CHECK_LE(a, b)
#define DCHECK_LT(a, b) LOCKSTEP_SHIM_DCHECK_ CHECK_LT(a, b)
#define DCHECK_GE(a, b) LOCKSTEP_SHIM_DCHECK_ CHECK_GE(a, b)
#define DCHECK_GT(a, b) LOCKSTEP_SHIM_DCHECK_ CHECK_GT(a, b)

#endif  // ABSL_LOG_CHECK_H_
