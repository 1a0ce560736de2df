#include "ddp/checkpoint/durable_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <vector>

#include "absl/status/status_matchers.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "ddp/checkpoint/faulty_file_system.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

using ::absl_testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;
using ::testing::UnorderedElementsAre;

const std::string kOld = "old contents";
const std::string kNew = std::string(1000, 'n') + std::string(500, 'm');

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

void PutFile(const std::string& path, const std::string& contents) { std::ofstream(path, std::ios::binary) << contents; }

std::vector<std::string> FilesIn(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) names.push_back(entry.path().filename().string());
  return names;
}

// A folder of its own for each test.
class DurableFile : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = absl::StrCat(testing::TempDir(), "/", testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    path_ = absl::StrCat(folder_, "/file");
  }

  absl::Status Write(FileSystem& files) {
    const absl::string_view pieces[] = {absl::string_view(kNew).substr(0, 1000), "", absl::string_view(kNew).substr(1000)};
    return WriteFileDurably(files, path_, pieces);
  }

  std::string folder_;
  std::string path_;
};

// What runs in a process of its own, and how that ends: its exit status.
int InChild(const std::function<int()>& body) {
  const pid_t child = fork();
  if (child == 0) _exit(body());
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

TEST_F(DurableFile, IsWrittenWholeUnderItsNameAlone) {
  ABSL_ASSERT_OK(Write(RealFileSystem()));
  EXPECT_EQ(ReadFile(path_), kNew);
  EXPECT_THAT(FilesIn(folder_), ElementsAre("file"));
}

TEST_F(DurableFile, ReplacesAnOldOne) {
  PutFile(path_, kOld);
  ABSL_ASSERT_OK(Write(RealFileSystem()));
  EXPECT_EQ(ReadFile(path_), kNew);
  EXPECT_THAT(FilesIn(folder_), ElementsAre("file"));
}

TEST_F(DurableFile, MayBeEmpty) {
  ABSL_ASSERT_OK(WriteFileDurably(RealFileSystem(), path_, {}));
  EXPECT_EQ(ReadFile(path_), "");
  EXPECT_THAT(FilesIn(folder_), ElementsAre("file"));
}

TEST_F(DurableFile, ObeysTheUmask) {
  const mode_t before = umask(027);
  ABSL_ASSERT_OK(Write(RealFileSystem()));
  umask(before);
  struct stat status;
  ASSERT_EQ(stat(path_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0640u);
}

TEST_F(DurableFile, IsSyncedBeforeItsRenameAndItsFolderAfter) {
  FaultyFileSystem files;
  ABSL_ASSERT_OK(Write(files));
  EXPECT_THAT(files.calls(),
              ElementsAre(StartsWith(absl::StrCat("open ", folder_, "/.tmp-file-")), "lock", "allocate 1500", "write 1000",
                          "write 500", "fsync", "close", "rename to " + path_, "open " + folder_, "fsync", "close"));
}

TEST_F(DurableFile, IsWrittenWholeByShortWrites) {
  FaultyFileSystem files;
  files.max_write = 7;
  ABSL_ASSERT_OK(Write(files));
  EXPECT_EQ(ReadFile(path_), kNew);
}

// Every call, every way a disk says no: an error that names the path; the old file whole, or the new one if only the
// folder's fsync is missing; nothing left over.
TEST_F(DurableFile, FailsAtEveryCallWithoutHarm) {
  for (const int error : {ENOSPC, EIO, EACCES, EDQUOT, EROFS}) {
    for (int call = 0;; ++call) {
      PutFile(path_, kOld);
      FaultyFileSystem files;
      files.fail_at = call;
      files.error = error;
      const absl::Status status = Write(files);
      if (call >= static_cast<int>(files.calls().size())) {
        EXPECT_EQ(call, 11);
        break;
      }
      const std::string& failed = files.calls()[static_cast<size_t>(call)];
      SCOPED_TRACE(absl::StrCat(failed, ", errno ", error));
      const bool harmless = call == 1 || call == 10;  // the lock; the close of the folder, which is synced
      EXPECT_EQ(status.ok(), harmless) << status;
      EXPECT_TRUE(status.ok() || absl::StrContains(status.message(), folder_)) << status;
      const bool renamed = call > 7 || harmless;  // call 7 is the rename
      EXPECT_EQ(ReadFile(path_), renamed ? kNew : kOld);
      EXPECT_THAT(FilesIn(folder_), ElementsAre("file"));
    }
  }
}

TEST_F(DurableFile, KeepsTheOldOneWhenTheDiskFailsForGood) {
  for (int call = 0; call < 8; ++call) {
    PutFile(path_, kOld);
    FaultyFileSystem files;
    files.fail_at = call;
    files.for_good = true;
    files.error = EIO;
    EXPECT_FALSE(Write(files).ok());
    EXPECT_EQ(ReadFile(path_), kOld);
  }
}

TEST_F(DurableFile, IsWrittenWhereFilesCannotBeAllocatedAhead) {
  FaultyFileSystem files;
  files.fail_at = 2;
  files.error = EOPNOTSUPP;
  ABSL_ASSERT_OK(Write(files));
  EXPECT_EQ(ReadFile(path_), kNew);
}

TEST_F(DurableFile, IsWrittenThroughInterruptedCalls) {
  FaultyFileSystem files;
  files.fail_at = 3;
  files.error = EINTR;
  ABSL_ASSERT_OK(Write(files));
  EXPECT_EQ(ReadFile(path_), kNew);
}

TEST_F(DurableFile, TellsAFullDiskFromAForbiddenOne) {
  FaultyFileSystem files;
  files.fail_at = 3;
  files.error = ENOSPC;
  EXPECT_THAT(Write(files), StatusIs(absl::StatusCode::kResourceExhausted,
                                     AllOf(StartsWith("write " + folder_), HasSubstr("No space left on device"))));
  FaultyFileSystem forbidden;
  forbidden.fail_at = 0;
  forbidden.error = EACCES;
  EXPECT_THAT(Write(forbidden), StatusIs(absl::StatusCode::kPermissionDenied, StartsWith("create " + folder_)));
  path_ = folder_ + "/missing/file";
  EXPECT_THAT(Write(RealFileSystem()), StatusIs(absl::StatusCode::kNotFound, HasSubstr("missing")));
}

TEST_F(DurableFile, FailsAtTheFileSizeLimitWithoutHarm) {
  PutFile(path_, kOld);
  const int status = InChild([&] {
    signal(SIGXFSZ, SIG_IGN);
    const rlimit limit = {1200, 1200};
    setrlimit(RLIMIT_FSIZE, &limit);
    return Write(RealFileSystem()).ok() ? 1 : 0;
  });
  EXPECT_EQ(status, 0);
  EXPECT_EQ(ReadFile(path_), kOld);
  EXPECT_THAT(FilesIn(folder_), ElementsAre("file"));
}

// A tmpfs of 64 KiB at `folder` that this process alone sees.
bool MountSmallDisk(const std::string& folder) {
  const std::string user = absl::StrCat("0 ", getuid(), " 1");
  const std::string group = absl::StrCat("0 ", getgid(), " 1");
  if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return false;
  // Without these, files there would belong to nobody, and cannot be made.
  PutFile("/proc/self/uid_map", user);
  PutFile("/proc/self/setgroups", "deny");
  PutFile("/proc/self/gid_map", group);
  return mount("none", folder.c_str(), "tmpfs", 0, "size=64k") == 0;
}

TEST_F(DurableFile, FailsOnAFullDiskWithoutHarm) {
  constexpr int kNotAllowed = 77;
  const int status = InChild([&] {
    if (!MountSmallDisk(folder_)) return kNotAllowed;
    PutFile(path_, kOld);
    const std::string large(100000, 'x');
    const absl::string_view pieces[] = {large};
    const absl::Status written = WriteFileDurably(RealFileSystem(), path_, pieces);
    if (written.code() != absl::StatusCode::kResourceExhausted) return 2;
    if (ReadFile(path_) != kOld) return 3;
    return FilesIn(folder_).size() == 1 ? 0 : 4;
  });
  if (WEXITSTATUS(status) == kNotAllowed) GTEST_SKIP() << "needs the right to mount a tmpfs in a user namespace";
  EXPECT_EQ(status, 0);
}

TEST_F(DurableFile, WriterKilledAtAnyCallLeavesTheOldOneOrTheNew) {
  for (int call = 0; call < 11; ++call) {
    SCOPED_TRACE(call);
    PutFile(path_, kOld);
    const int status = InChild([&] {
      FaultyFileSystem files;
      files.kill_at = call;
      return Write(files).ok() ? 0 : 1;
    });
    EXPECT_TRUE(WIFSIGNALED(status));
    EXPECT_EQ(ReadFile(path_), call > 7 ? kNew : kOld);
    RemoveAbandonedTemporaries(RealFileSystem(), folder_, "file");
    EXPECT_THAT(FilesIn(folder_), ElementsAre("file"));
  }
}

// --- Leftovers ----------------------------------------------------------------------------------------------------------

TEST_F(DurableFile, OnlyAbandonedTemporariesOfTheGivenNamesAreRemoved) {
  for (const char* name : {".tmp-file-1-a", ".tmp-file-2-b", ".tmp-other-1-a", "file-1", ".tmp"})
    PutFile(folder_ + "/" + name, "");
  const int held = open((folder_ + "/.tmp-file-2-b").c_str(), O_WRONLY | O_CLOEXEC);
  ASSERT_EQ(flock(held, LOCK_EX), 0);
  RemoveAbandonedTemporaries(RealFileSystem(), folder_, "file-");
  EXPECT_THAT(FilesIn(folder_), UnorderedElementsAre(".tmp-file-2-b", ".tmp-other-1-a", "file-1", ".tmp"));
  close(held);
}

TEST_F(DurableFile, RemovingLeftoversOfAMissingFolderDoesNothing) {
  RemoveAbandonedTemporaries(RealFileSystem(), folder_ + "/missing", "file-");
  EXPECT_THAT(FilesIn(folder_), IsEmpty());
}

// --- Folders ------------------------------------------------------------------------------------------------------------

TEST_F(DurableFile, FoldersAreMadeFromTheTopAndTheirParentsSynced) {
  FaultyFileSystem files;
  ABSL_ASSERT_OK(MakeFolderDurably(files, folder_ + "/a/b"));
  EXPECT_TRUE(std::filesystem::is_directory(folder_ + "/a/b"));
  EXPECT_THAT(files.calls(), ElementsAre("mkdir " + folder_ + "/a", "open " + folder_, "fsync", "close",
                                         "mkdir " + folder_ + "/a/b", "open " + folder_ + "/a", "fsync", "close"));
  ABSL_EXPECT_OK(MakeFolderDurably(files, folder_ + "/a/b"));
  ABSL_EXPECT_OK(MakeFolderDurably(files, folder_ + "/a/c/"));
  EXPECT_TRUE(std::filesystem::is_directory(folder_ + "/a/c"));
}

TEST_F(DurableFile, AFolderThatIsAFileOrForbiddenIsAnError) {
  PutFile(path_, kOld);
  EXPECT_THAT(MakeFolderDurably(RealFileSystem(), path_), StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr(path_)));
  EXPECT_FALSE(MakeFolderDurably(RealFileSystem(), path_ + "/below").ok());
  EXPECT_FALSE(MakeFolderDurably(RealFileSystem(), "/proc/lockstep/below").ok());
  FaultyFileSystem files;
  files.fail_at = 0;
  files.error = EACCES;
  EXPECT_THAT(MakeFolderDurably(files, folder_ + "/a"), StatusIs(absl::StatusCode::kPermissionDenied, StartsWith("mkdir ")));
}

TEST(FolderOf, IsWhatStandsBeforeTheLastSlash) {
  EXPECT_EQ(FolderOf("/a/b/c"), "/a/b");
  EXPECT_EQ(FolderOf("/a"), "/");
  EXPECT_EQ(FolderOf("a"), ".");
}

}  // namespace
}  // namespace lockstep
