#include "transports/gloo/call_gloo.h"

#include <exception>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gloo/common/error.h"

namespace lockstep {
namespace {

// Without the "[/path/file.cc:123] " that Gloo puts before it.
absl::string_view Text(absl::string_view what) {
  const size_t end = what.find("] ");
  return absl::StartsWith(what, "[") && end != absl::string_view::npos ? what.substr(end + 2) : what;
}

}  // namespace

absl::Status CallGloo(absl::FunctionRef<void()> body) {
  try {
    body();
    return absl::OkStatus();
  } catch (const gloo::IoException& e) {
    return absl::UnavailableError(Text(e.what()));
  } catch (const std::exception& e) {
    return absl::InternalError(absl::StrCat("Gloo: ", Text(e.what()), "; please report this"));
  }
}

}  // namespace lockstep
