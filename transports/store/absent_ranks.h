// Which ranks have not come to a meeting in a store, for the error that names them.
#ifndef LOCKSTEP_TRANSPORTS_STORE_ABSENT_RANKS_H_
#define LOCKSTEP_TRANSPORTS_STORE_ABSENT_RANKS_H_

#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status_macros.h"
#include "absl/status/statusor.h"
#include "transports/store/store.h"

namespace lockstep {

// The ranks of 0 to size - 1 whose key is not there. Does not wait for them; an error is the store's.
inline absl::StatusOr<std::vector<int>> AbsentRanks(Store& store, int size,
                                                    absl::FunctionRef<std::string(int rank)> key_of) {
  std::vector<int> absent;
  for (int rank = 0; rank < size; ++rank) {
    ABSL_ASSIGN_OR_RETURN(const bool there, store.Contains(key_of(rank)));
    if (!there) absent.push_back(rank);
  }
  return absent;
}

}  // namespace lockstep

#endif  // LOCKSTEP_TRANSPORTS_STORE_ABSENT_RANKS_H_
