#pragma once

#include <cstdint>

namespace sheaf::io {

// Limits the bytes that wait unsent in the kernel for a TCP socket; beyond `bytes` the socket is
// not writable. Without the limit, the kernel holds megabytes for a peer that reads nothing.
// Returns false when the descriptor is no TCP socket.
bool limit_unsent(int descriptor, std::uint32_t bytes);

// Returns true when nothing can travel on a TCP socket any more: its peer has reset it, or has not
// acknowledged anything for too long, or both sides have ended.
bool is_gone(int descriptor);

}  // namespace sheaf::io
