#pragma once

#include <cstdint>
#include <vector>

#include "util/address.h"
#include "util/bytes.h"
#include "wire/types.h"

namespace sheaf::quic {

// Source, destination and mark of a UDP datagram
struct IpPacketHeader {
  Address source;
  Address destination;
  Ecn ecn = Ecn::kNotEct;
};

// Writes a UDP datagram as an IPv4 or IPv6 packet (RFC 791, RFC 8200) with correct checksums, in
// place of what `out` holds. A payload beyond what IPv4 can carry is cut off.
void write_ip_packet(const IpPacketHeader& header, Bytes payload, std::vector<std::uint8_t>& out);

}  // namespace sheaf::quic
