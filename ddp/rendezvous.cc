#include "ddp/rendezvous.h"

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status_macros.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/types/optional.h"

namespace lockstep {
namespace {

// More ranks than any job has; a bound makes typing errors visible.
constexpr int kMaxWorldSize = 1'000'000;
constexpr int kMaxPort = 65535;
constexpr std::array<absl::string_view, 6> kVariables = {"RANK",        "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE",
                                                         "MASTER_ADDR", "MASTER_PORT"};

// A value together with where it came from, for errors: `RANK="x"`.
struct Setting {
  std::string source;
  std::string text;
  std::string Show() const { return absl::StrCat(source, "=\"", absl::CHexEscape(text), "\""); }
};
using OptionalSetting = absl::optional<Setting>;

absl::Status Invalid(absl::string_view what, absl::string_view allowed) {
  return absl::InvalidArgumentError(absl::StrCat("InitProcessGroup: ", what, "; ", allowed));
}

OptionalSetting FromEnvironment(const Environment& environment, absl::string_view name) {
  absl::optional<std::string> text = environment(name);
  if (!text.has_value()) return absl::nullopt;
  return Setting{std::string(name), *std::move(text)};
}

absl::StatusOr<int> ParseNumber(const Setting& setting, int low, int high) {
  int number = 0;
  // No blanks, no sign: SimpleAtoi takes both.
  const bool digits = !setting.text.empty() && setting.text.find_first_not_of("0123456789") == std::string::npos;
  if (digits && absl::SimpleAtoi(setting.text, &number) && number >= low && number <= high) return number;
  return Invalid(setting.Show(), absl::StrCat("allowed: a whole number from ", low, " to ", high));
}

absl::StatusOr<std::string> ParseHost(const Setting& setting) {
  const std::string& text = setting.text;
  const bool ipv6 = text.find(':') != text.rfind(':');
  const bool valid = !text.empty() && text.size() <= 255 && text.find_first_of(" \t\r\n/?#@[]") == std::string::npos &&
                     (ipv6 || !absl::StrContains(text, ':'));
  if (valid) return text;
  return Invalid(setting.Show(), "allowed: a host name or an IP address, without a port and without brackets");
}

// What a tcp:// URL says.
struct Url {
  Endpoint endpoint;
  OptionalSetting rank;
  OptionalSetting world_size;
};

constexpr absl::string_view kUrlForm = "allowed: env://, or tcp://host:port?rank=R&world_size=N (an IPv6 host in brackets)";

absl::Status BadUrl(absl::string_view url, absl::string_view what) {
  return Invalid(absl::StrCat("the init method \"", absl::CHexEscape(url), "\" ", what), kUrlForm);
}

absl::StatusOr<Endpoint> ParseAuthority(absl::string_view url, absl::string_view authority) {
  const size_t colon = authority.rfind(':');
  const bool bracketed = absl::StartsWith(authority, "[");
  const size_t bracket = authority.find(']');
  if (colon == authority.npos || (bracketed && (bracket == authority.npos || bracket + 1 != colon))) {
    return BadUrl(url, "has no port");
  }
  absl::string_view host = authority.substr(0, colon);
  if (bracketed) host = host.substr(1, host.size() - 2);
  if (!bracketed && absl::StrContains(host, ':')) return BadUrl(url, "has an IPv6 host without brackets");
  Endpoint endpoint;
  ABSL_ASSIGN_OR_RETURN(endpoint.host, ParseHost({"the init method's host", std::string(host)}));
  ABSL_ASSIGN_OR_RETURN(endpoint.port,
                        ParseNumber({"the init method's port", std::string(authority.substr(colon + 1))}, 1, kMaxPort));
  return endpoint;
}

absl::StatusOr<Url> ParseUrl(absl::string_view url) {
  absl::string_view rest = url;
  if (!absl::ConsumePrefix(&rest, "tcp://")) return BadUrl(url, "is unknown");
  const std::pair<absl::string_view, absl::string_view> parts = absl::StrSplit(rest, absl::MaxSplits('?', 1));
  Url result;
  ABSL_ASSIGN_OR_RETURN(result.endpoint, ParseAuthority(url, absl::StripSuffix(parts.first, "/")));
  for (const absl::string_view item : absl::StrSplit(parts.second, '&', absl::SkipEmpty())) {
    const std::pair<absl::string_view, absl::string_view> pair = absl::StrSplit(item, absl::MaxSplits('=', 1));
    OptionalSetting* const setting = pair.first == "rank"         ? &result.rank
                                     : pair.first == "world_size" ? &result.world_size
                                                                  : nullptr;
    if (setting == nullptr)
      return BadUrl(url, absl::StrCat("has an unknown parameter \"", absl::CHexEscape(pair.first), "\""));
    if (setting->has_value()) return BadUrl(url, absl::StrCat("gives ", pair.first, " twice"));
    *setting = Setting{absl::StrCat("the init method's ", pair.first), std::string(pair.second)};
  }
  return result;
}

// The first of `settings` that is there, after all others that are have been found to say the same. The environment comes
// last, and what comes before it wins without a word.
absl::StatusOr<OptionalSetting> Choose(const OptionalSetting& option, const OptionalSetting& url,
                                       const OptionalSetting& variable) {
  if (option.has_value() && url.has_value() && option->text != url->text) {
    return Invalid(absl::StrCat(option->Show(), " contradicts ", url->Show()), "give one of them, or the same value twice");
  }
  return option.has_value() ? option : url.has_value() ? url : variable;
}

OptionalSetting FromOption(absl::string_view name, const absl::optional<int>& value) {
  if (!value.has_value()) return absl::nullopt;
  return Setting{absl::StrCat("the option ", name), absl::StrCat(*value)};
}

absl::Status Missing(absl::string_view name, absl::string_view because) {
  return Invalid(absl::StrCat(name, " is not set, though ", because),
                 "a launcher sets all of RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT, a tcp:// init method ends with "
                 "?rank=R&world_size=N; alone, a program needs none");
}

// What some setting of the environment shows, for the message that another is missing; empty: nothing is set.
std::string AnySetting(const ProcessGroupOptions& options, const Environment& environment) {
  if (const OptionalSetting rank = FromOption("rank", options.rank)) return rank->Show();
  if (const OptionalSetting size = FromOption("world_size", options.world_size)) return size->Show();
  for (const absl::string_view name : kVariables) {
    if (const OptionalSetting setting = FromEnvironment(environment, name)) return setting->Show();
  }
  return "";
}

absl::Status ReadLocal(const Environment& environment, RankInfo& info) {
  const OptionalSetting size = FromEnvironment(environment, "LOCAL_WORLD_SIZE");
  const OptionalSetting rank = FromEnvironment(environment, "LOCAL_RANK");
  if (size.has_value()) {
    ABSL_ASSIGN_OR_RETURN(info.local_world_size, ParseNumber(*size, 1, info.world_size));
  }
  if (rank.has_value()) {
    // Without a local world size, all ranks may be on this host.
    const int most = size.has_value() ? info.local_world_size - 1 : info.world_size - 1;
    ABSL_ASSIGN_OR_RETURN(info.local_rank, ParseNumber(*rank, 0, most));
    if (!size.has_value()) info.local_world_size = info.local_rank + 1;
    if (size.has_value() && info.local_world_size == info.world_size && info.local_rank != info.rank) {
      return Invalid(absl::StrCat(rank->Show(), " contradicts rank ", info.rank, ", since ", size->Show(), " of ",
                                  info.world_size, " ranks are on this host"),
                     "allowed: the same as the rank");
    }
  }
  return absl::OkStatus();
}

absl::Status CheckOptions(const ProcessGroupOptions& options) {
  if (options.timeout <= absl::ZeroDuration()) {
    return Invalid(absl::StrCat("the timeout is ", absl::FormatDuration(options.timeout)), "allowed: more than 0");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Rendezvous> FindRendezvous(const ProcessGroupOptions& options, const Environment& environment) {
  ABSL_RETURN_IF_ERROR(CheckOptions(options));
  const bool by_url = options.init_method != "env://";
  Url url;
  if (by_url) {
    ABSL_ASSIGN_OR_RETURN(url, ParseUrl(options.init_method));
  }
  Rendezvous result;
  const std::string because =
      by_url ? absl::StrCat("the init method is \"", options.init_method, "\"") : AnySetting(options, environment);
  if (because.empty()) return result;  // nobody launched us: a group of one

  ABSL_ASSIGN_OR_RETURN(const OptionalSetting size, Choose(FromOption("world_size", options.world_size), url.world_size,
                                                           FromEnvironment(environment, "WORLD_SIZE")));
  if (!size.has_value()) return Missing("WORLD_SIZE", because);
  ABSL_ASSIGN_OR_RETURN(result.info.world_size, ParseNumber(*size, 1, kMaxWorldSize));
  ABSL_ASSIGN_OR_RETURN(const OptionalSetting rank,
                        Choose(FromOption("rank", options.rank), url.rank, FromEnvironment(environment, "RANK")));
  if (!rank.has_value()) return Missing("RANK", because);
  ABSL_ASSIGN_OR_RETURN(result.info.rank, ParseNumber(*rank, 0, result.info.world_size - 1));
  ABSL_RETURN_IF_ERROR(ReadLocal(environment, result.info));

  if (by_url) {
    result.store = url.endpoint;
    return result;
  }
  const OptionalSetting host = FromEnvironment(environment, "MASTER_ADDR"),
                        port = FromEnvironment(environment, "MASTER_PORT");
  if (result.info.world_size > 1 && !host.has_value()) return Missing("MASTER_ADDR", because);
  if (result.info.world_size > 1 && !port.has_value()) return Missing("MASTER_PORT", because);
  if (host.has_value()) {
    ABSL_ASSIGN_OR_RETURN(result.store.host, ParseHost(*host));
  }
  if (port.has_value()) {
    ABSL_ASSIGN_OR_RETURN(result.store.port, ParseNumber(*port, 1, kMaxPort));
  }
  return result;
}

}  // namespace lockstep
