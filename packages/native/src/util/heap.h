#pragma once

#include <cstdlib>  // says whether it is glibc
#if defined(__GLIBC__)
#include <malloc.h>
#endif

namespace sheaf::quic {

// Gives freed memory back to the system. glibc keeps what was freed, but for the end of its heap,
// where something else nearly always lies. Walks the whole heap, which takes milliseconds.
inline void return_freed_memory() {
#if defined(__GLIBC__)
  malloc_trim(0);
#endif
}

}  // namespace sheaf::quic
