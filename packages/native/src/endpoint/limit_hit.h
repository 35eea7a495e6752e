#pragma once

#include <cstdint>
#include <string_view>

namespace sheaf::quic {

// The bound that somebody met (docs/reference/limits.md).
enum class LimitHit : std::uint8_t {
  kConnections,         // refused: there were as many as there may be
  kNetworkConnections,  // refused: the client's network had its share
  kHalfOpen,            // refused: handshakes pending
  kIdleEvicted,         // closed, to make room
  kMemoryEvicted,       // closed, since it held much and took little
  kStatelessResets,     // not sent
  kReusedTokens,        // a token of NEW_TOKEN that was used before
  kCount,
};

constexpr std::string_view to_string(LimitHit hit) {
  switch (hit) {
    case LimitHit::kConnections:
      return "connections";
    case LimitHit::kNetworkConnections:
      return "network_connections";
    case LimitHit::kHalfOpen:
      return "half_open_handshakes";
    case LimitHit::kIdleEvicted:
      return "idle_evicted";
    case LimitHit::kMemoryEvicted:
      return "memory_evicted";
    case LimitHit::kStatelessResets:
      return "stateless_resets";
    case LimitHit::kReusedTokens:
      return "reused_tokens";
    case LimitHit::kCount:
      break;
  }
  return "none";
}

}  // namespace sheaf::quic
