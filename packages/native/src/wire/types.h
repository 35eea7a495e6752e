#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <functional>

#include "util/bytes.h"

namespace sheaf::quic {

enum class Role : std::uint8_t { kClient, kServer };
constexpr Role peer_of(Role role) { return role == Role::kClient ? Role::kServer : Role::kClient; }

using PacketNumber = std::uint64_t;
inline constexpr PacketNumber k_no_packet_number = UINT64_MAX;

// Path id (RFC 10069 §1.1). Path 0 is the path of the handshake.
struct PathId {
  std::uint32_t value = 0;
  auto operator<=>(const PathId&) const = default;
};

// Which packets share their keys (docs/internals/keys.md). The values appear in snapshots, and are
// the bits of the transport parameter multi_end.
enum class KeyMode : std::uint8_t {
  kShared = 1,   // one traffic secret for all paths (RFC 10069 §2.4)
  kPerPath = 2,  // each path has its own, derived from it
};

enum class Directionality : std::uint8_t { kBidirectional, kUnidirectional };

// The most streams of a kind that a connection can have (RFC 9000 §4.6).
inline constexpr std::uint64_t k_max_streams = std::uint64_t{1} << 60;

// Stream id (RFC 9000 §2.1)
struct StreamId {
  std::uint64_t value = 0;
  auto operator<=>(const StreamId&) const = default;

  Role initiator() const { return value & 1 ? Role::kServer : Role::kClient; }
  Directionality directionality() const {
    return value & 2 ? Directionality::kUnidirectional : Directionality::kBidirectional;
  }
  // Position among the streams of the same initiator and directionality, from 0
  std::uint64_t index() const { return value >> 2; }
  static StreamId make(Role initiator, Directionality directionality, std::uint64_t index) {
    return {index << 2 | (directionality == Directionality::kUnidirectional ? 2u : 0u) |
            (initiator == Role::kServer ? 1u : 0u)};
  }
};

struct ConnectionId {
  static constexpr std::size_t k_max_length = 20;  // RFC 9000 §17.2
  std::array<std::uint8_t, k_max_length> bytes{};
  std::uint8_t length = 0;

  ConnectionId() = default;
  explicit ConnectionId(Bytes from) : length(static_cast<std::uint8_t>(from.size())) {
    if (!from.empty()) std::memcpy(bytes.data(), from.data(), from.size());
  }
  Bytes view() const { return {bytes.data(), length}; }
  auto operator<=>(const ConnectionId&) const = default;
};

using StatelessResetToken = std::array<std::uint8_t, 16>;

// The two ECN bits of the IP header (RFC 9000 §13.4, RFC 3168)
enum class Ecn : std::uint8_t { kNotEct = 0, kEct1 = 1, kEct0 = 2, kCe = 3 };

inline constexpr std::uint32_t k_version_1 = 0x00000001;
inline constexpr std::uint32_t k_version_2 = 0x6b3343cf;  // RFC 9369

}  // namespace sheaf::quic

template <>
struct std::hash<sheaf::quic::ConnectionId> {
  // Mixes all bytes. Ids that we issue are random, but a client chooses some.
  std::size_t operator()(const sheaf::quic::ConnectionId& id) const noexcept {
    std::uint64_t mixed = 0xcbf29ce484222325u ^ id.length;
    for (std::uint8_t byte : id.view()) mixed = (mixed ^ byte) * 0x100000001b3u;
    return mixed;
  }
};

template <>
struct std::hash<sheaf::quic::StreamId> {
  std::size_t operator()(const sheaf::quic::StreamId& id) const noexcept {
    return id.value * 0x9e3779b97f4a7c15u;
  }
};
