#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "util/time.h"
#include "wire/transport_error.h"
#include "wire/types.h"

namespace sheaf::quic {

// Bits of the transport parameter multi_end (docs/reference/wire.md). Unknown bits are ignored.
struct BackendKeyModes {
  // Every backend has the connection's traffic secrets.
  static constexpr auto k_shared = static_cast<std::uint64_t>(KeyMode::kShared);
  // A backend has the secrets of its own path.
  static constexpr auto k_per_path = static_cast<std::uint64_t>(KeyMode::kPerPath);
  static constexpr std::uint64_t k_all = k_shared | k_per_path;
};

struct PreferredAddress {
  std::array<std::uint8_t, 4> ipv4{};
  std::uint16_t ipv4_port = 0;
  std::array<std::uint8_t, 16> ipv6{};
  std::uint16_t ipv6_port = 0;
  ConnectionId id;
  StatelessResetToken reset_token{};
};

// Transport parameters (RFC 9000 §18.2, RFC 9221 §3, RFC 9287 §3,
// draft-ietf-quic-reliable-stream-reset-09 §3, draft-ietf-quic-ack-frequency-11 §3, RFC 10069 §3,
// docs/reference/wire.md). Defaults are those of an absent parameter.
struct TransportParameters {
  Duration max_idle_timeout = Duration::zero();  // zero: none
  std::uint64_t max_udp_payload_size = 65527;
  std::uint64_t initial_max_data = 0;
  std::uint64_t initial_max_stream_data_bidi_local = 0;
  std::uint64_t initial_max_stream_data_bidi_remote = 0;
  std::uint64_t initial_max_stream_data_uni = 0;
  std::uint64_t initial_max_streams_bidi = 0;
  std::uint64_t initial_max_streams_uni = 0;
  std::uint8_t ack_delay_exponent = 3;
  Duration max_ack_delay = std::chrono::milliseconds(25);
  // This side takes ACK_FREQUENCY and IMMEDIATE_ACK, and delays of at least this much. No longer
  // than `max_ack_delay`, and never remembered for another connection.
  std::optional<Duration> min_ack_delay;
  // The same in the first form (draft-iyengar-quic-delayed-ack-02 §3), which Firefox announces. It
  // has another layout of ACK_FREQUENCY, and no IMMEDIATE_ACK.
  std::optional<Duration> first_min_ack_delay;
  bool disable_active_migration = false;
  std::optional<PreferredAddress> preferred_address;
  std::uint64_t active_connection_id_limit = 2;
  std::uint64_t max_datagram_frame_size = 0;
  bool grease_quic_bit = false;
  bool reset_stream_at = false;  // this side accepts RESET_STREAM_AT
  std::optional<std::uint64_t> initial_max_path_id;
  // Key modes of Multi-End that this side supports, one bit each (`BackendKeyModes`;
  // docs/reference/wire.md)
  std::optional<std::uint64_t> multi_end;
  // Paths on which this side agrees that backends send from the server's address
  // (docs/reference/wire.md): 1 to `k_max_return_paths`, with `initial_max_path_id`. Other values
  // are ignored.
  std::optional<std::uint64_t> return_paths;
  // This side follows TUNNEL_REPORT (docs/reference/wire.md).
  bool tunnel_reports = false;
  std::optional<StatelessResetToken> stateless_reset_token;
};

inline constexpr std::uint64_t k_max_return_paths = 8;

// Parses the raw TLS extension, which may have been stored with a session ticket. Unknown
// parameters are skipped. A repeated parameter or a bad value is a TRANSPORT_PARAMETER_ERROR.
Result<TransportParameters, TransportError> decode_transport_parameters(Bytes extension);

// Appends the parameters that ngtcp2 cannot encode: reset_stream_at, min_ack_delay,
// initial_max_path_id and private ones. (ngtcp2 itself encodes grease_quic_bit.)
void append_extension_parameters(std::vector<std::uint8_t>& out,
                                 const TransportParameters& parameters);

}  // namespace sheaf::quic
