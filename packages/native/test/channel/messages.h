#pragma once

#include "channel/channel_messages.h"
#include "crypto/secrets.h"

namespace sheaf::quic {

inline constexpr ChannelId k_test_channel{0xc0, 1, 2, 3, 4, 5, 6, 8};

inline Address channel_address(std::array<std::uint8_t, 4> ip, std::uint16_t port) {
  Address address{.port = port, .family = Address::Family::kIpv4};
  std::ranges::copy(ip, address.ip.begin());
  return address;
}

inline ChannelOffer example_offer() {
  ChannelOffer offer;
  offer.channel = k_test_channel;
  offer.sequence = 3;
  offer.source = channel_address({10, 1, 2, 3}, 4433);
  offer.group = channel_address({232, 7, 8, 9}, 5004);
  offer.header = make_secret(CipherSuite::kAes128GcmSha256, std::vector<std::uint8_t>(32, 0x11));
  offer.packet_size = 1350;
  offer.max_rate = 1'250'000;
  Ed25519PublicKey key;
  key.fill(0xaa);
  offer.authentication = offer_of_public_key(AuthenticationScheme::kSigned, key);
  offer.reach = 2000;
  offer.deadline = 350ms;
  offer.report_interval = 100ms;
  offer.report_share = 0x8000;
  return offer;
}

}  // namespace sheaf::quic
