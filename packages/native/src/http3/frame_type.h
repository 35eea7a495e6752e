#pragma once

#include <cstdint>

namespace sheaf::http3 {

// Frame types (RFC 9114 §7.2, RFC 9218 §7, draft-ietf-webtrans-http3-02 §4.2).
inline constexpr std::uint64_t k_frame_data = 0x00;
inline constexpr std::uint64_t k_frame_headers = 0x01;
inline constexpr std::uint64_t k_frame_cancel_push = 0x03;
inline constexpr std::uint64_t k_frame_settings = 0x04;
inline constexpr std::uint64_t k_frame_push_promise = 0x05;
inline constexpr std::uint64_t k_frame_go_away = 0x07;
inline constexpr std::uint64_t k_frame_max_push_id = 0x0d;
inline constexpr std::uint64_t k_frame_webtransport_stream = 0x41;
inline constexpr std::uint64_t k_frame_priority_update = 0xf0700;
inline constexpr std::uint64_t k_frame_priority_update_push = 0xf0701;

// Returns true for a frame type of HTTP/2 that has no meaning here and must not appear (RFC 9114
// §7.2.8).
constexpr bool frame_reserved_by_http2(std::uint64_t type) {
  return type == 0x02 || type == 0x06 || type == 0x08 || type == 0x09;
}

// Types of unidirectional streams (RFC 9114 §6.2, RFC 9204 §4.2, draft-ietf-webtrans-http3-02
// §4.1).
inline constexpr std::uint64_t k_stream_control = 0x00;
inline constexpr std::uint64_t k_stream_push = 0x01;
inline constexpr std::uint64_t k_stream_qpack_encoder = 0x02;
inline constexpr std::uint64_t k_stream_qpack_decoder = 0x03;
inline constexpr std::uint64_t k_stream_webtransport = 0x54;

}  // namespace sheaf::http3
