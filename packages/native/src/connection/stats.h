#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "util/address.h"
#include "util/time.h"
#include "wire/frame.h"
#include "wire/types.h"

namespace sheaf::quic {

// Why a received packet was dropped.
enum class DropReason : std::uint8_t {
  kTooShort,
  kUnknownConnectionId,
  kUndecryptable,
  kDuplicate,
  kNoKeys,
  kClosing,
  kInvalidLongHeader,
  kUnsupportedVersion,
  kQueueFull,
  kUnread,  // a datagram (RFC 9221) whose application read too slowly
  kCount,
};
std::string_view to_string(DropReason reason);

enum class PathState : std::uint8_t {
  kValidating,
  kActive,
  kSilent,     // a probe timeout passed since it last acknowledged something
  kAbandoned,  // by one side at least
};

struct PathStats {
  PathId id;
  AddressPair addresses;
  PathState state = PathState::kActive;
  PathStatus status = PathStatus::kAvailable;       // as we told the peer
  PathStatus peer_status = PathStatus::kAvailable;  // as the peer told us
  bool validated = false;
  Duration smoothed_rtt{};
  Duration rtt_variance{};
  Duration minimum_rtt{};
  std::uint64_t congestion_window = 0;
  std::uint64_t bytes_in_flight = 0;
  std::uint64_t bytes_sent = 0;
  std::uint64_t bytes_received = 0;
  std::uint64_t packets_sent = 0;
  std::uint64_t packets_received = 0;
  std::uint64_t packets_lost = 0;
  std::uint64_t pacing_rate = 0;  // bytes per second, of the controller; UINT64_MAX: not paced
  std::uint16_t mtu = 0;

  // Returns the bytes per second that window and pace let leave.
  std::uint64_t sending_rate() const;
};

struct ConnectionStats {
  std::uint64_t datagrams_sent = 0;      // RFC 9221 frames
  std::uint64_t datagrams_received = 0;  // RFC 9221 frames
  std::uint64_t tunnel_reports_received = 0;
  std::uint64_t key_updates = 0;
  std::uint64_t streams_total = 0;
  std::size_t streams_open = 0;
  std::array<std::uint64_t, static_cast<std::size_t>(DropReason::kCount)> dropped{};

  std::uint64_t dropped_for(DropReason reason) const {
    return dropped[static_cast<std::size_t>(reason)];
  }
};

}  // namespace sheaf::quic
