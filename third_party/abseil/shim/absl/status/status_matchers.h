// The status matchers of newer Abseil, under their own names, for releases that lack them.
//
//   ABSL_ASSERT_OK(store.Set("key", "value"));
//   EXPECT_THAT(store.Get("key", timeout), absl_testing::IsOkAndHolds("value"));
//   EXPECT_THAT(status, absl_testing::StatusIs(absl::StatusCode::kNotFound, testing::HasSubstr("key")));
#ifndef ABSL_STATUS_STATUS_MATCHERS_H_
#define ABSL_STATUS_STATUS_MATCHERS_H_

#include <string>
#include <type_traits>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace absl_testing {
namespace internal {

inline const absl::Status& GetStatus(const absl::Status& status) { return status; }
template <typename T>
const absl::Status& GetStatus(const absl::StatusOr<T>& status) {
  return status.status();
}

}  // namespace internal

MATCHER(IsOk, negation ? "is not OK" : "is OK") {
  const absl::Status& status = internal::GetStatus(arg);
  *result_listener << status.ToString();
  return status.ok();
}

MATCHER_P(StatusIs, code, "has code " + absl::StatusCodeToString(code)) {
  const absl::Status& status = internal::GetStatus(arg);
  *result_listener << status.ToString();
  return status.code() == code;
}

MATCHER_P2(StatusIs, code, message,
           "has code " + absl::StatusCodeToString(code) + " and a message that " +
               testing::DescribeMatcher<std::string>(message)) {
  const absl::Status& status = internal::GetStatus(arg);
  *result_listener << status.ToString();
  return status.code() == code && testing::ExplainMatchResult(testing::MatcherCast<const std::string&>(message),
                                                              std::string(status.message()), result_listener);
}

MATCHER_P(IsOkAndHolds, value, "is OK and has a value that matches") {
  if (!arg.ok()) {
    *result_listener << arg.status().ToString();
    return false;
  }
  return testing::ExplainMatchResult(value, *arg, result_listener);
}

}  // namespace absl_testing

#define ABSL_EXPECT_OK(expr) EXPECT_THAT(expr, absl_testing::IsOk())
#define ABSL_ASSERT_OK(expr) ASSERT_THAT(expr, absl_testing::IsOk())

// Declares or assigns `lhs` from a StatusOr, or fails the test.
#define ABSL_ASSERT_OK_AND_ASSIGN(lhs, expr) \
  LOCKSTEP_SHIM_ASSERT_OK_AND_ASSIGN_(LOCKSTEP_SHIM_TEST_CONCAT_(lockstep_shim_or_, __LINE__), lhs, expr)
#define LOCKSTEP_SHIM_TEST_CONCAT_INNER_(a, b) a##b
#define LOCKSTEP_SHIM_TEST_CONCAT_(a, b) LOCKSTEP_SHIM_TEST_CONCAT_INNER_(a, b)
#define LOCKSTEP_SHIM_ASSERT_OK_AND_ASSIGN_(tmp, lhs, expr) \
  auto tmp = (expr);                                        \
  ASSERT_THAT(tmp, absl_testing::IsOk());                   \
  lhs = *std::move(tmp)

#endif  // ABSL_STATUS_STATUS_MATCHERS_H_
