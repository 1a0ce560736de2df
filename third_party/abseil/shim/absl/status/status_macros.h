// The status macros of newer Abseil, under their own names, for releases that lack them.
//
//   ABSL_RETURN_IF_ERROR(store.Set(key, value));
//   ABSL_ASSIGN_OR_RETURN(std::string value, store.Get(key, timeout));
#ifndef ABSL_STATUS_STATUS_MACROS_H_
#define ABSL_STATUS_STATUS_MACROS_H_

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#define LOCKSTEP_SHIM_CONCAT_INNER_(a, b) a##b
#define LOCKSTEP_SHIM_CONCAT_(a, b) LOCKSTEP_SHIM_CONCAT_INNER_(a, b)

// Evaluates an expression of type absl::Status once and returns it from the function unless it is OK.
// (The switch keeps an unbraced `if` around the macro from taking its else.)
#define ABSL_RETURN_IF_ERROR(expr)                                                 \
  switch (0)                                                                       \
  case 0:                                                                          \
  default:                                                                         \
    if (absl::Status lockstep_shim_status_ = (expr); lockstep_shim_status_.ok()) { \
    } else                                                                         \
      return lockstep_shim_status_

// Evaluates an expression of type absl::StatusOr<T> once; returns its error, or moves its value into `lhs`.
#define ABSL_ASSIGN_OR_RETURN(lhs, expr) \
  LOCKSTEP_SHIM_ASSIGN_OR_RETURN_(LOCKSTEP_SHIM_CONCAT_(lockstep_shim_or_, __LINE__), lhs, expr)
#define LOCKSTEP_SHIM_ASSIGN_OR_RETURN_(tmp, lhs, expr) \
  auto tmp = (expr);                                    \
  if (!tmp.ok()) return std::move(tmp).status();        \
  lhs = *std::move(tmp)

#endif  // ABSL_STATUS_STATUS_MACROS_H_
