// The first command of a new user: `bazel run //examples/digits` trains with two ranks on this machine.
//
//   bazel run //examples/digits -- --nproc_per_node=4 --epochs=10     # what is not ddprun's goes to the trainer
//
// Finds ddprun and the trainer among its runfiles and becomes `ddprun --nproc_per_node=2 trainer`; also when it is called by
// its path, from any folder.
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/status_macros.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "examples/digits/launch_command.h"
#include "tools/cpp/runfiles/runfiles.h"

namespace digits {
namespace {

using bazel::tools::cpp::runfiles::Runfiles;

// The repository's name differs: "lockstep" in a WORKSPACE, "_main" in a module.
absl::StatusOr<std::string> FindRunfile(const Runfiles& runfiles, absl::string_view path) {
  for (const absl::string_view repository : {"lockstep", "_main"}) {
    const std::string location = runfiles.Rlocation(absl::StrCat(repository, "/", path));
    if (!location.empty() && access(location.c_str(), X_OK) == 0) return std::filesystem::absolute(location).string();
  }
  return absl::NotFoundError(
      absl::StrCat(path, " is not among this program's runfiles; build //examples/digits with Bazel"));
}

// `bazel run` starts a program deep inside its own folders; relative paths mean the folder it was typed in.
absl::Status ReturnToTheUsersFolder() {
  const char* const folder = std::getenv("BUILD_WORKING_DIRECTORY");
  if (folder == nullptr || chdir(folder) == 0) return absl::OkStatus();
  return absl::ErrnoToStatus(errno, absl::StrCat("cannot enter ", folder));
}

// Returns only if that failed.
absl::Status Become(const std::vector<std::string>& command) {
  std::vector<char*> argv;
  for (const std::string& argument : command) argv.push_back(const_cast<char*>(argument.c_str()));  // execv only reads it
  argv.push_back(nullptr);
  execv(argv[0], argv.data());
  return absl::ErrnoToStatus(errno, absl::StrCat("cannot execute ", command[0]));
}

absl::Status Launch(const std::string& self, const std::vector<std::string>& arguments) {
  std::string error;
  const std::unique_ptr<Runfiles> runfiles(Runfiles::Create(self, &error));
  if (runfiles == nullptr) return absl::NotFoundError(absl::StrCat("no runfiles: ", error));
  ABSL_ASSIGN_OR_RETURN(const std::string ddprun, FindRunfile(*runfiles, "tools/ddprun/ddprun"));
  ABSL_ASSIGN_OR_RETURN(const std::string trainer, FindRunfile(*runfiles, "examples/digits/trainer"));
  ABSL_ASSIGN_OR_RETURN(const std::vector<std::string> command, LaunchCommand(ddprun, trainer, arguments));
  ABSL_RETURN_IF_ERROR(ReturnToTheUsersFolder());
  setenv("OMP_NUM_THREADS", "1", /*overwrite=*/0);  // the trainer's arithmetic is one thread a rank; ddprun need not tell
  return Become(command);
}

}  // namespace
}  // namespace digits

int main(int argc, char** argv) {
  const absl::Status status = digits::Launch(argv[0], std::vector<std::string>(argv + 1, argv + argc));
  std::cerr << "digits: " << status << std::endl;
  return 1;
}
