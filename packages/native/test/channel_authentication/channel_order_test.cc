#include <gtest/gtest.h>

#include "channel_authentication/channel_world.h"
#include "channel_authentication/flight_source.h"
#include "channel_authentication/flight_verifier.h"
#include "crypto/channel_open_keys.h"
#include "crypto/channel_seal_keys.h"
#include "wire/packet_header.h"

namespace sheaf::quic {
namespace {

// Seals payloads as packets of the test's channel.
class PacketSealer {
 public:
  PacketSealer(const TrafficSecret& header, const ChannelSecret& secret) : keys_(header, secret) {}

  // Writes the packet of the next number. The bytes stay, since the source of flights reads them.
  TestPacket& seal(Bytes payload, bool proofs_only) {
    const PacketNumber number = keys_.next_number();
    auto& packet = *packets_.emplace_back(std::make_unique<TestPacket>());
    packet.number = number;
    packet.key_sequence = keys_.sequence();
    auto& bytes = packet.datagram;
    bytes.push_back(static_cast<std::uint8_t>(k_fixed_bit | keys_.key_phase_bit() | 3 |
                                              (proofs_only ? k_channel_proof_bit : 0)));
    bytes.insert(bytes.end(), k_test_channel.begin(), k_test_channel.end());
    bytes.resize(k_channel_header_length);
    store(bytes.data() + 9, static_cast<std::uint32_t>(number));
    bytes.insert(bytes.end(), payload.begin(), payload.end());
    bytes.resize(bytes.size() + k_aead_tag_length);
    const SealJob job{.packet = bytes.data(),
                      .payload_length = static_cast<std::uint32_t>(payload.size()),
                      .header_length = k_channel_header_length,
                      .packet_number_length = 4,
                      .path = {},
                      .number = number};
    EXPECT_TRUE(keys_.seal({&job, 1}));
    return packet;
  }
  ChannelSealKeys& keys() { return keys_; }

 private:
  ChannelSealKeys keys_;
  std::vector<std::unique_ptr<TestPacket>> packets_;
};

TrafficSecret filled_secret(std::uint8_t value) {
  TrafficSecret secret;
  secret.length = 32;
  secret.bytes.fill(value);
  return secret;
}

// What a member of a channel does with a datagram: store, authenticate, open, frames.
struct Member {
  explicit Member(const Ed25519PublicKey& source, JobRunner& runner)
      : verifier({.channel = k_test_channel}, source, runner, random) {
    EXPECT_EQ(keys.add({.sequence = 0, .first_number = 0, .secret = filled_secret(1)}, Time{}),
              ChannelOpenKeys::Added::kAdded);
  }

  void receive(Bytes datagram) {
    const auto header = keys.read_header(datagram);
    if (!header) return;
    if (header->has_proof()) read_proofs(*header, datagram);
    const ReceivedPacket packet{header->number, header->key_sequence, datagram};
    if (verifier.on_packet(packet, k_auth_start) == Verdict::kProven) deliver(datagram);
    while (const auto proven = verifier.next_proven()) deliver(proven->sealed);
  }
  // Reads only the frames that prove themselves, of a packet that nothing proves.
  void read_proofs(const ChannelHeader& header, Bytes datagram) {
    std::vector<std::uint8_t> payload(datagram.size());
    if (keys.open(header, datagram, ChannelOpenKeys::Origin::kUnproven, k_auth_start,
                  payload.data()) != ChannelOpenKeys::Outcome::kOpened) {
      return;
    }
    Reader reader(
        Bytes(payload).first(datagram.size() - k_channel_header_length - k_aead_tag_length));
    while (!reader.empty()) {
      const auto frame = decode_integrity_frame(reader);
      if (!frame) return;
      verifier.on_frame(*frame, FrameOrigin::kChannel, k_auth_start);
    }
  }
  void deliver(Bytes sealed) {
    const auto header = keys.read_header(sealed);
    ASSERT_TRUE(header);
    std::vector<std::uint8_t> payload(sealed.size());
    ASSERT_EQ(
        keys.open(*header, sealed, ChannelOpenKeys::Origin::kProven, k_auth_start, payload.data()),
        ChannelOpenKeys::Outcome::kOpened);
    if (!header->has_proof()) delivered.push_back(payload[0]);
  }

  SeededRandom random{71};
  ChannelOpenKeys keys{filled_secret(9)};
  FlightVerifier verifier;
  std::vector<std::uint8_t> delivered;
};

// A forger that has the keys of the channel sends packets with the same numbers, and integrity
// frames of its own.
TEST(ChannelOrder, OnlyPacketsOfTheSourceAreDelivered) {
  InlineRunner runner;
  const SigningKey key(test_seed(1));
  const SigningKey forged_key(test_seed(2));
  const ChannelSecret secret{.sequence = 0, .first_number = 0, .secret = filled_secret(1)};
  PacketSealer genuine(filled_secret(9), secret);
  PacketSealer forged(filled_secret(9), secret);
  FlightConfig config{.channel = k_test_channel, .copies = 1};
  FlightSource source(config, key, runner);
  FlightSource forger(config, forged_key, runner);
  Member member(key.public_key(), runner);

  std::vector<std::uint8_t> expected;
  Time now = k_auth_start;
  for (std::uint8_t flight = 0; flight < 5; ++flight) {
    for (std::uint8_t i = 0; i < 40; ++i) {
      const std::vector<std::uint8_t> payload(100, static_cast<std::uint8_t>(flight * 40 + i));
      const std::vector<std::uint8_t> lie(100, 0xee);
      TestPacket& packet = genuine.seal(payload, false);
      TestPacket& lies = forged.seal(lie, false);
      const SealedPacket sealed = packet.sealed();
      const SealedPacket sealed_lies = lies.sealed();
      source.add({&sealed, 1}, now);
      forger.add({&sealed_lies, 1}, now);
      member.receive(lies.datagram);
      member.receive(packet.datagram);
      expected.push_back(payload[0]);
    }
    now += 30ms;
    source.on_timeout(now);
    forger.on_timeout(now);
    for (const auto& frame : frames_of(forger, now)) {
      TestPacket& packet = forged.seal(frame, true);
      member.receive(packet.datagram);
    }
    for (const auto& frame : frames_of(source, now)) {
      TestPacket& packet = genuine.seal(frame, true);
      SealedPacket sealed = packet.sealed();
      sealed.proofs_only = true;
      source.add({&sealed, 1}, now);
      member.receive(packet.datagram);
    }
  }
  EXPECT_EQ(member.delivered, expected);
  EXPECT_EQ(member.verifier.counts().forged_packets, 204u)
      << "200 lies, and the packets of four forged flights, whose numbers the next flight has";
}

}  // namespace
}  // namespace sheaf::quic
