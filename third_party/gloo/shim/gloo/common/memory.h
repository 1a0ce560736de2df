// What gloo/transport/tcp/pair.h includes and Debian's libgloo-dev leaves out, declared as far as that header needs it: with the
// members that Gloo's own types of these names have, so that classes which hold them have Gloo's layout.
#ifndef LOCKSTEP_THIRD_PARTY_GLOO_SHIM_GLOO_COMMON_MEMORY_H_
#define LOCKSTEP_THIRD_PARTY_GLOO_SHIM_GLOO_COMMON_MEMORY_H_

#include <memory>

namespace gloo {

template <typename T>
class NonOwningPtr final {
  std::shared_ptr<T> held_;
};

template <typename T>
class WeakNonOwningPtr final {
  std::weak_ptr<T> held_;
};

template <typename T>
class ShareableNonOwningPtr final {
  std::shared_ptr<T> held_;
};

}  // namespace gloo

#endif  // LOCKSTEP_THIRD_PARTY_GLOO_SHIM_GLOO_COMMON_MEMORY_H_
