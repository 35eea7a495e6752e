#pragma once

#include "crypto/server_secret.h"

namespace sheaf::quic {

inline ServerSecret server_secret(std::uint8_t number) {
  ServerSecret secret;
  secret.number = number;
  secret.bytes.fill(static_cast<std::uint8_t>(0x40 + number));
  return secret;
}

}  // namespace sheaf::quic
