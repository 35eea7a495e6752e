#include "sim/ip_packet.h"

#include <algorithm>

namespace sheaf::quic {

namespace {

constexpr std::size_t k_ipv4_header = 20;
constexpr std::size_t k_ipv6_header = 40;
constexpr std::size_t k_udp_header = 8;
constexpr std::size_t k_max_payload = 65535 - k_ipv4_header - k_udp_header;
constexpr std::uint8_t k_udp = 17;
constexpr std::uint8_t k_hops = 64;

// Adds to the ones' complement sum (RFC 1071), not yet complemented.
std::uint32_t add_to_sum(std::uint32_t sum, Bytes bytes) {
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    sum += i % 2 == 0 ? std::uint32_t{bytes[i]} << 8 : bytes[i];
    if (sum > 0xffff'0000) sum = (sum & 0xffff) + (sum >> 16);
  }
  return sum;
}

std::uint16_t checksum(std::uint32_t sum) {
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<std::uint16_t>(~sum);
}

Bytes ip_of(const Address& address) {
  return Bytes(address.ip).first(address.family == Address::Family::kIpv6 ? 16 : 4);
}

void write_ipv4_header(const IpPacketHeader& header, std::size_t length, Writer& writer) {
  std::uint8_t* begin = writer.position();
  writer.write_u8(0x45);  // version 4, five words
  writer.write_u8(static_cast<std::uint8_t>(header.ecn));
  writer.write_u16(static_cast<std::uint16_t>(k_ipv4_header + length));
  writer.write_u16(0);       // identification
  writer.write_u16(0x4000);  // don't fragment (RFC 9000 §14)
  writer.write_u8(k_hops);
  writer.write_u8(k_udp);
  writer.write_u16(0);
  writer.write_bytes(ip_of(header.source));
  writer.write_bytes(ip_of(header.destination));
  store(begin + 10, checksum(add_to_sum(0, {begin, k_ipv4_header})));
}

void write_ipv6_header(const IpPacketHeader& header, std::size_t length, Writer& writer) {
  // Version 6, the traffic class, no flow label.
  writer.write_u32(0x6000'0000 | static_cast<std::uint32_t>(header.ecn) << 20);
  writer.write_u16(static_cast<std::uint16_t>(length));
  writer.write_u8(k_udp);
  writer.write_u8(k_hops);
  writer.write_bytes(ip_of(header.source));
  writer.write_bytes(ip_of(header.destination));
}

// Computes the checksum over both addresses, protocol, length, header and payload (RFC 768, RFC
// 8200 §8.1).
std::uint16_t udp_checksum(const IpPacketHeader& header, Bytes datagram) {
  std::uint32_t sum = add_to_sum(0, ip_of(header.source));
  sum = add_to_sum(sum, ip_of(header.destination));
  sum += k_udp + static_cast<std::uint32_t>(datagram.size());
  const std::uint16_t result = checksum(add_to_sum(sum, datagram));
  return result == 0 ? 0xffff : result;  // 0 would mean no checksum
}

}  // namespace

void write_ip_packet(const IpPacketHeader& header, Bytes payload, std::vector<std::uint8_t>& out) {
  payload = payload.first(std::min(payload.size(), k_max_payload));
  const bool is_ipv6 = header.source.family == Address::Family::kIpv6;
  const std::size_t length = k_udp_header + payload.size();
  out.resize((is_ipv6 ? k_ipv6_header : k_ipv4_header) + length);
  Writer writer(out);
  if (is_ipv6) {
    write_ipv6_header(header, length, writer);
  } else {
    write_ipv4_header(header, length, writer);
  }
  std::uint8_t* udp = writer.position();
  writer.write_u16(header.source.port);
  writer.write_u16(header.destination.port);
  writer.write_u16(static_cast<std::uint16_t>(length));
  writer.write_u16(0);
  writer.write_bytes(payload);
  store(udp + 6, udp_checksum(header, {udp, length}));
}

}  // namespace sheaf::quic
