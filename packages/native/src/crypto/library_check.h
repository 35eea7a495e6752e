#pragma once

#include <optional>
#include <string>

namespace sheaf::quic {

// Some builds of Node.js (20.19.4 and older) export their own copy of ngtcp2, and an addon's calls
// then go to that copy and crash. To be asked once at load time: a sentence with the cause and the
// fix when this process cannot run the transport, nothing when it can.
std::optional<std::string> check_libraries();

}  // namespace sheaf::quic
