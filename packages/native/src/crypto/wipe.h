#pragma once

#include <strings.h>

#include <cstddef>

namespace sheaf::quic {

// Clears key material; unlike memset it is not optimised away before the memory is freed.
inline void wipe(void* memory, std::size_t length) { explicit_bzero(memory, length); }

// Key material on the stack that is cleared at the end of the scope.
template <typename T>
struct Wiped {
  T value{};
  ~Wiped() { wipe(&value, sizeof value); }
};

}  // namespace sheaf::quic
