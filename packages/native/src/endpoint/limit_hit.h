#pragma once

#include <cstdint>
#include <string_view>

namespace sheaf::quic {

// Names the limit that was reached (docs/reference/limits.md).
enum class LimitHit : std::uint8_t {
  kConnections,         // refused: the maximum number of connections was reached
  kNetworkConnections,  // refused: the client's network had its share of connections
  kHalfOpen,            // refused: too many handshakes were pending
  kIdleEvicted,         // closed to make room
  kMemoryEvicted,       // closed because it held much and read little
  kStatelessResets,     // not sent
  kReusedTokens,        // a token of NEW_TOKEN was used a second time
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
