#pragma once

#include <sys/resource.h>

#include <cstddef>

namespace sheaf::io {

// Returns a quarter of the descriptors that the system permits this process. What takes one for
// each request of a client takes no more, so that there are some for the clients themselves.
inline std::size_t quarter_of_descriptors() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  return static_cast<std::size_t>(limit.rlim_cur / 4);
}

}  // namespace sheaf::io
