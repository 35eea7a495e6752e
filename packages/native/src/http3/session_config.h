#pragma once

#include <cstdint>

#include "http3/settings.h"
#include "http3/transport.h"

namespace sheaf::http3 {

struct SessionConfig {
  std::uint64_t max_field_section_size = 64 << 10;  // bytes, as RFC 9114 §4.2.2 counts them
  std::uint64_t qpack_table_capacity = 4096;        // bytes
  std::uint64_t qpack_blocked_streams = 16;
  // Server: accepts CONNECT with `:protocol` (RFC 9220), independent of `webtransport`.
  bool extended_connect = false;
  bool datagrams = false;  // HTTP datagrams (RFC 9297)
  // Announces WebTransport, and with it extended CONNECT and datagrams.
  bool webtransport = false;
  std::size_t max_webtransport_sessions = 256;  // maximum at one time; announced and enforced
  // On a backend: the primary has the control and QPACK streams, and has exchanged SETTINGS with
  // the client. A backend only has requests, and its QPACK has no dynamic table
  // (docs/internals/multi-end.md).
  bool requests_only = false;

  bool takes_datagrams() const { return datagrams || webtransport; }
  // Returns the SETTINGS that announce this configuration.
  Settings settings(Role role) const;
};

}  // namespace sheaf::http3
