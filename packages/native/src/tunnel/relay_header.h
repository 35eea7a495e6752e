#pragma once

#include <cstdint>
#include <string>

#include "util/bytes.h"
#include "util/result.h"

namespace sheaf::tunnel {

// What stands in front of a UDP payload between a program and a relay of SOCKS 5 (RFC 1928 §7).
struct RelayHeader {
  enum class Host : std::uint8_t { kIpv4 = 1, kName = 3, kIpv6 = 4 };

  std::size_t size = 0;  // bytes in front of the payload
  Host type = Host::kIpv4;
  quic::Bytes host;  // the address, or the letters of the name
  std::uint16_t port = 0;

  // Returns the host as text, such as `192.0.2.7`, `2001:db8:0:0:0:0:0:7` or a name.
  std::string host_text() const;
};

enum class RelayHeaderError : std::uint8_t {
  kMalformed,  // cut off, of an unknown type, without a port, or with a name that is none
  kFragment,   // part of a payload, which nobody puts together
};

// Reads a header. `host` refers to the datagram.
quic::Result<RelayHeader, RelayHeaderError> read_relay_header(quic::Bytes datagram);

}  // namespace sheaf::tunnel
