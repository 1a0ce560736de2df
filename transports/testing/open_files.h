// How many files this process has open, for tests that nothing is left behind.
#ifndef LOCKSTEP_TRANSPORTS_TESTING_OPEN_FILES_H_
#define LOCKSTEP_TRANSPORTS_TESTING_OPEN_FILES_H_

#include <dirent.h>

namespace lockstep {

inline int OpenFiles() {
  int count = 0;
  DIR* const files = opendir("/proc/self/fd");
  while (readdir(files) != nullptr) ++count;
  closedir(files);
  return count;
}

}  // namespace lockstep

#endif  // LOCKSTEP_TRANSPORTS_TESTING_OPEN_FILES_H_
