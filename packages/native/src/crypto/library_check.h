#pragma once

#include <optional>
#include <string>

namespace sheaf::quic {

// Checks at load time whether this process can run the transport. Returns nothing if so, otherwise
// a sentence with the cause and the fix. Some builds of Node.js (20.19.4 and older) export their
// own copy of ngtcp2. An addon's calls then go to that copy, and crash.
std::optional<std::string> check_libraries();

}  // namespace sheaf::quic
