#pragma once

#include <cstdint>
#include <vector>

#include "http3/error.h"
#include "util/bytes.h"

namespace sheaf::http3 {

// Says which drafts of WebTransport a peer speaks. The setting changed its identifier with several
// drafts of draft-ietf-webtrans-http3: Chromium needs that of draft 02, Safari those of drafts 07
// and 13, Go's webtransport-go that of draft 15.
struct WebTransportSettings {
  bool draft02 = false;                    // SETTINGS_ENABLE_WEBTRANSPORT
  std::uint64_t max_sessions_draft07 = 0;  // SETTINGS_WEBTRANSPORT_MAX_SESSIONS
  std::uint64_t max_sessions_draft13 = 0;  // SETTINGS_WT_MAX_SESSIONS, drafts 13 and 14
  std::uint64_t enabled_draft15 = 0;       // SETTINGS_WT_ENABLED, drafts 15 and 16
  bool flow_control = false;  // any SETTINGS_WT_INITIAL_MAX_… is not 0 (draft 16 §5.1)

  bool older_draft() const {
    return draft02 || max_sessions_draft07 > 0 || max_sessions_draft13 > 0;
  }
  bool any() const { return older_draft() || enabled_draft15 > 0; }
};

// Settings of RFC 9114 §7.2.4.1, RFC 9204 §5, RFC 9220 §3, RFC 9297 §2.1.1 and
// draft-ietf-webtrans-http3.
struct Settings {
  std::uint64_t qpack_max_table_capacity = 0;  // bytes
  std::uint64_t qpack_blocked_streams = 0;
  std::uint64_t max_field_section_size = quic::k_max_varint;  // bytes; the default is no limit
  bool enable_connect_protocol = false;
  bool datagrams = false;
  WebTransportSettings webtransport;
};

// Returns the payload of a SETTINGS frame. `grease` yields a reserved identifier and value, which
// the peer must ignore (RFC 9114 §7.2.4.1).
std::vector<std::uint8_t> encode_settings(const Settings& settings, std::uint64_t grease);
quic::Result<Settings, ConnectionError> decode_settings(quic::Bytes payload);

}  // namespace sheaf::http3
