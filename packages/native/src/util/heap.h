#pragma once

#include <cstdlib>  // defines __GLIBC__
#if defined(__GLIBC__)
#include <malloc.h>
#endif

namespace sheaf::quic {

// Returns freed memory to the system. glibc itself returns only the end of its heap, where
// something in use nearly always lies. Walks the whole heap, which takes milliseconds.
inline void return_freed_memory() {
#if defined(__GLIBC__)
  malloc_trim(0);
#endif
}

}  // namespace sheaf::quic
