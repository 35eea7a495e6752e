#pragma once

#include <cstddef>
#include <cstring>

namespace sheaf::quic {

// Clears key material. Unlike memset, it is not optimized away before the memory is freed.
inline void wipe(void* memory, std::size_t length) { explicit_bzero(memory, length); }

// Key material on the stack, which is cleared at the end of the scope
template <typename T>
struct Wiped {
  T value{};
  ~Wiped() { wipe(&value, sizeof value); }
};

}  // namespace sheaf::quic
