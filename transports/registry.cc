#include "transports/registry.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/synchronization/mutex.h"

namespace lockstep {
namespace {

struct Entry {
  TransportFactory factory;
  std::string source_location;
};

struct Registry {
  absl::Mutex mu;
  std::map<std::string, Entry> entries ABSL_GUARDED_BY(mu);
};

Registry& Global() {
  static Registry* const registry = new Registry;
  return *registry;
}

// Insertions, deletions and substitutions that turn `a` into `b`.
size_t EditDistance(absl::string_view a, absl::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t substituted = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = std::exchange(row[j], std::min({substituted, row[j] + 1, row[j - 1] + 1}));
    }
  }
  return row[b.size()];
}

std::string DidYouMean(absl::string_view name, const std::vector<std::string>& known) {
  const auto closest = std::min_element(known.begin(), known.end(), [&](const std::string& a, const std::string& b) {
    return EditDistance(name, a) < EditDistance(name, b);
  });
  if (closest == known.end() || EditDistance(name, *closest) > 2) return "";
  return absl::StrCat("Did you mean ", *closest, "? ");
}

}  // namespace

absl::Status RegisterTransport(absl::string_view name, TransportFactory factory, absl::string_view source_location) {
  const bool well_formed = !name.empty() && name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == name.npos;
  if (!well_formed) {
    return absl::InvalidArgumentError(
        absl::StrCat("transport name \"", name, "\" (", source_location, "): names are made of a-z, 0-9 and _"));
  }
  Registry& registry = Global();
  absl::MutexLock lock(&registry.mu);
  const auto [it, inserted] =
      registry.entries.emplace(std::string(name), Entry{std::move(factory), std::string(source_location)});
  if (inserted) return absl::OkStatus();
  return absl::AlreadyExistsError(absl::StrCat("transport \"", name, "\" is registered twice: at ",
                                               it->second.source_location, " and at ", source_location,
                                               ". Link one of them, or rename one."));
}

absl::StatusOr<std::unique_ptr<Transport>> CreateTransport(absl::string_view name) {
  TransportFactory factory;
  {
    Registry& registry = Global();
    absl::MutexLock lock(&registry.mu);
    if (auto it = registry.entries.find(std::string(name)); it != registry.entries.end()) factory = it->second.factory;
  }
  if (factory) return factory();
  const std::vector<std::string> known = RegisteredTransports();
  return absl::NotFoundError(
      absl::StrCat("unknown transport \"", name, "\"; linked in: ", known.empty() ? "none" : absl::StrJoin(known, ", "),
                   ". ", DidYouMean(name, known),
                   "A transport is linked in by depending on its target: //transports/gloo, or that of your own."));
}

std::vector<std::string> RegisteredTransports() {
  Registry& registry = Global();
  absl::MutexLock lock(&registry.mu);
  std::vector<std::string> names;
  names.reserve(registry.entries.size());
  for (const auto& [name, entry] : registry.entries) names.push_back(name);
  return names;
}

namespace registry_internal {

Registrar::Registrar(absl::string_view name, TransportFactory factory, absl::string_view source_location) {
  const absl::Status status = RegisterTransport(name, std::move(factory), source_location);
  if (status.ok()) return;
  // Before main: nothing to return it to, and a program with two transports of one name must not start.
  std::fprintf(stderr, "lockstep: %s\n", std::string(status.message()).c_str());
  std::exit(1);
}

}  // namespace registry_internal
}  // namespace lockstep
