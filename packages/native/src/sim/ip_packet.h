#pragma once

#include <cstdint>
#include <vector>

#include "util/address.h"
#include "util/bytes.h"
#include "wire/types.h"

namespace sheaf::quic {

// Where a UDP datagram comes from, goes to, and how it is marked.
struct IpPacketHeader {
  Address source;
  Address destination;
  Ecn ecn = Ecn::kNotEct;
};

// The IPv4 or IPv6 packet (RFC 791, RFC 8200) of a UDP datagram, with correct checksums, replaces
// what `out` holds. A payload beyond what IPv4 can carry is cut off.
void write_ip_packet(const IpPacketHeader& header, Bytes payload, std::vector<std::uint8_t>& out);

}  // namespace sheaf::quic
