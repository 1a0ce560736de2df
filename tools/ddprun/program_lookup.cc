#include "tools/ddprun/program_lookup.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace lockstep::ddprun {
namespace {

absl::Status CheckExecutable(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) {
    const std::string message = absl::StrCat(path, ": ", strerror(errno));
    return errno == EACCES ? absl::PermissionDeniedError(message) : absl::NotFoundError(message);
  }
  if (S_ISDIR(status.st_mode)) return absl::PermissionDeniedError(absl::StrCat(path, " is a folder, not a program"));
  if (access(path.c_str(), X_OK) != 0) {
    return absl::PermissionDeniedError(absl::StrCat(path, " may not be executed: ", strerror(errno), " (chmod +x?)"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::string> FindProgram(const std::string& program, absl::string_view search_path) {
  if (absl::StrContains(program, "/")) {
    const absl::Status status = CheckExecutable(program);
    if (!status.ok()) return status;
    return program;
  }
  absl::Status denied;
  for (absl::string_view folder : absl::StrSplit(search_path, ':')) {
    const std::string path = absl::StrCat(folder.empty() ? "." : folder, "/", program);
    const absl::Status status = CheckExecutable(path);
    if (status.ok()) return path;
    if (absl::IsPermissionDenied(status) && denied.ok()) denied = status;
  }
  if (!denied.ok()) return denied;
  const bool here = access(program.c_str(), F_OK) == 0;
  return absl::NotFoundError(absl::StrCat("no program ", program, " in PATH",
                                          here ? absl::StrCat("; for the one in this folder write ./", program) : ""));
}

}  // namespace lockstep::ddprun
