#pragma once

#include <cstdint>
#include <vector>

#include "http3/error.h"
#include "util/bytes.h"

namespace sheaf::http3 {

// RFC 9114 §7.2.4.1, RFC 9204 §5, RFC 9220 §3, RFC 9297 §2.1.1, draft-ietf-webtrans-http3.
struct Settings {
  std::uint64_t qpack_max_table_capacity = 0;  // bytes
  std::uint64_t qpack_blocked_streams = 0;
  std::uint64_t max_field_section_size = quic::k_max_varint;  // bytes; default: no limit
  bool enable_connect_protocol = false;
  bool datagrams = false;
  bool webtransport = false;  // in any of the drafts' ways to say it
};

// Payload of a SETTINGS frame. `grease` becomes a reserved identifier and value that the peer must
// ignore (RFC 9114 §7.2.4.1).
std::vector<std::uint8_t> encode_settings(const Settings& settings, std::uint64_t grease);
quic::Result<Settings, ConnectionError> decode_settings(quic::Bytes payload);

}  // namespace sheaf::http3
