#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "util/bytes.h"
#include "wire/types.h"

namespace sheaf::quic {

// State that a client stores to resume: TLS ticket, the server's parameters, an address token. It
// belongs to one server name and one trust decision, since a resumed handshake shows no
// certificate.
struct SessionState {
  std::vector<std::uint8_t> tls_session{};
  std::vector<std::uint8_t> peer_parameters{};  // raw extension
  std::vector<std::uint8_t> token{};            // NEW_TOKEN
  std::string alpn{};
  std::uint32_t version = k_version_1;  // RFC 9369 §5: a ticket is only for its own version
};
std::vector<std::uint8_t> serialize(const SessionState& session);
// Parses a session; nothing for bytes that `serialize` did not write.
std::optional<SessionState> parse_session_state(Bytes bytes);

}  // namespace sheaf::quic
