#pragma once

#include <string>
#include <vector>

#include "direct_return/grant.h"

namespace sheaf::quic {

inline Address ipv4(std::uint8_t last, std::uint16_t port) {
  Address address{.port = port, .family = Address::Family::kIpv4};
  address.ip = {203, 0, 113, last};
  return address;
}

inline Grant example_grant() {
  Grant grant;
  grant.connection = 0x0102030405060708;
  grant.id = 0x11121314;
  grant.process = 0x2122232425262728;
  grant.keys.suite = CipherSuite::kAes128GcmSha256;
  grant.keys.packet.key_length = grant.keys.header.key_length = 16;
  for (std::uint8_t i = 0; i < 16; ++i) {
    grant.keys.packet.key[i] = static_cast<std::uint8_t>(0x30 + i);
    grant.keys.header.key[i] = static_cast<std::uint8_t>(0x50 + i);
  }
  for (std::uint8_t i = 0; i < 12; ++i) {
    grant.keys.packet.iv[i] = static_cast<std::uint8_t>(0x40 + i);
  }
  grant.keys.generation = 3;
  grant.keys.first_number = 0x123456;
  grant.addresses = {ipv4(7, 443), ipv4(99, 50000)};
  grant.client_id = ConnectionId(std::vector<std::uint8_t>{0xc1, 0xc2, 0xc3, 0xc4});
  grant.grease_fixed_bit = true;
  grant.stream = StreamId{8};
  grant.first_offset = 0x100;
  grant.limit = 0x20000;
  grant.max_datagram = 1452;
  grant.silence = 1s;
  return grant;
}

inline std::string hex(Bytes bytes) {
  std::string text;
  for (const std::uint8_t byte : bytes) {
    text += "0123456789abcdef"[byte >> 4];
    text += "0123456789abcdef"[byte & 15];
  }
  return text;
}

}  // namespace sheaf::quic
