#pragma once

#include <gtest/gtest.h>

#include <map>

#include "crypto/one_rtt_keys.h"
#include "crypto/secrets.h"
#include "wire/packet_header.h"

namespace sheaf::quic {

inline constexpr Duration k_pto = std::chrono::milliseconds(100);
inline constexpr std::size_t k_packet_number_offset = 9;
inline const Time k_start{std::chrono::seconds(1000)};

// Holds one node's keys, with a packet number space for each path.
struct KeyPeer {
  OneRttKeys keys;
  std::map<std::uint32_t, PacketNumber> next_number = {};
  std::map<std::uint32_t, PacketNumber> largest_received = {};

  // Returns an empty packet when the keys refuse.
  std::vector<std::uint8_t> seal(PathId path = {}, std::size_t payload_length = 20) {
    const PacketNumber number = next_number[path.value];
    std::vector<std::uint8_t> packet(k_packet_number_offset + 4 + payload_length +
                                     k_aead_tag_length);
    Writer writer{packet};
    writer.write_u8(k_fixed_bit | keys.key_phase_bit(path) | 3);
    writer.write_bytes(std::vector<std::uint8_t>(8, 0xcc));
    writer.write_u32(static_cast<std::uint32_t>(number));
    const SealJob job{.packet = packet.data(),
                      .payload_length = static_cast<std::uint32_t>(payload_length),
                      .header_length = k_packet_number_offset + 4,
                      .packet_number_length = 4,
                      .path = path,
                      .number = number};
    if (!keys.seal({&job, 1})) return {};
    ++next_number[path.value];
    return packet;
  }

  OpenedPacket open(std::vector<std::uint8_t> packet, Time now = k_start, PathId path = {}) {
    const auto largest = largest_received.find(path.value);
    const OpenedPacket opened =
        keys.open(packet, k_packet_number_offset, path,
                  largest == largest_received.end() ? k_no_packet_number : largest->second, now);
    if (opened.began_phase) keys.keep_old_keys(path, now, k_pto);
    if (opened.outcome == OpenedPacket::Outcome::kOpened) {
      EXPECT_EQ(opened.payload.size(), packet.size() - k_packet_number_offset - 4 - 16);
      largest_received[path.value] = std::max(largest_received[path.value], opened.number);
    }
    return opened;
  }

  // Accepts what another node handed over. Returns false when the keys refuse it.
  bool take_over(const std::optional<PathHandOver>& given) {
    if (!given || !keys.take_over(*given)) return false;
    next_number[given->path.value] = given->next_number;
    return true;
  }
};

// A client, and the server that did the handshake with it.
struct KeyPair {
  explicit KeyPair(KeyMode key_mode, CipherSuite suite = CipherSuite::kAes128GcmSha256)
      : mode(key_mode) {
    SeededRandom random{1};
    client_secret = random_secret(suite, random);
    server_secret = random_secret(suite, random);
    client.keys.set_mode(mode);
    server.keys.set_mode(mode);
    client.keys.install_send_secret(client_secret);
    client.keys.install_receive_secret(server_secret);
    server.keys.install_send_secret(server_secret);
    server.keys.install_receive_secret(client_secret);
    client.keys.confirm_handshake();
    server.keys.confirm_handshake();
  }

  // Each side sends twice; the second packet carries the acknowledgement of what it received.
  void exchange(Time now = k_start, PathId path = {}) { exchange(server, now, path); }
  void exchange(KeyPeer& node, Time now, PathId path) {
    using Outcome = OpenedPacket::Outcome;
    for (int round = 0; round < 2; ++round) {
      ASSERT_EQ(node.open(client.seal(path), now, path).outcome, Outcome::kOpened);
      if (round > 0) node.keys.on_acknowledged(path, node.next_number[path.value] - 1, now);
      ASSERT_EQ(client.open(node.seal(path), now, path).outcome, Outcome::kOpened);
      client.keys.on_acknowledged(path, client.next_number[path.value] - 1, now);
    }
  }

  KeyMode mode;
  TrafficSecret client_secret;
  TrafficSecret server_secret;
  KeyPeer client;
  KeyPeer server;
};

}  // namespace sheaf::quic
