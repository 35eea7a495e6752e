#pragma once

#include <cstdint>

namespace sheaf::io {

// At most so many bytes wait unsent in the kernel for this TCP socket; with more the socket is not
// writable. Without that bound the kernel takes megabytes for a peer that reads nothing. False: the
// descriptor is none of a TCP socket.
bool limit_unsent(int descriptor, std::uint32_t bytes);

}  // namespace sheaf::io
