#include "crypto/one_rtt_keys.h"

#include <gtest/gtest.h>

#include <map>

#include "crypto/key_schedule.h"
#include "crypto/secrets.h"
#include "wire/packet_header.h"

namespace sheaf::quic {
namespace {

using Outcome = OpenedPacket::Outcome;

constexpr Duration k_pto = std::chrono::milliseconds(100);
constexpr std::size_t k_packet_number_offset = 9;
const Time k_start{std::chrono::seconds(1000)};

// One side of a connection with a packet number space per path.
struct Peer {
  OneRttKeys keys;
  std::map<std::uint32_t, PacketNumber> next_number;
  std::map<std::uint32_t, PacketNumber> largest_received;

  std::vector<std::uint8_t> seal(PathId path = {}, std::size_t payload_length = 20) {
    const PacketNumber number = next_number[path.value]++;
    std::vector<std::uint8_t> packet(k_packet_number_offset + 4 + payload_length +
                                     k_aead_tag_length);
    Writer writer{packet};
    writer.write_u8(k_fixed_bit | keys.key_phase_bit() | 3);
    writer.write_bytes(std::vector<std::uint8_t>(8, 0xcc));
    writer.write_u32(static_cast<std::uint32_t>(number));
    const SealJob job{.packet = packet.data(),
                      .payload_length = static_cast<std::uint32_t>(payload_length),
                      .header_length = k_packet_number_offset + 4,
                      .packet_number_length = 4,
                      .path = path,
                      .number = number};
    keys.seal({&job, 1});
    return packet;
  }

  OpenedPacket open(std::vector<std::uint8_t> packet, Time now = k_start, PathId path = {}) {
    const auto largest = largest_received.find(path.value);
    const OpenedPacket opened = keys.open(
        packet, k_packet_number_offset, path,
        largest == largest_received.end() ? k_no_packet_number : largest->second, now, k_pto);
    if (opened.outcome == Outcome::kOpened) {
      EXPECT_EQ(opened.payload.size(), packet.size() - k_packet_number_offset - 4 - 16);
      largest_received[path.value] = std::max(largest_received[path.value], opened.number);
    }
    return opened;
  }
};

class OneRttKeysTest : public testing::Test {
 protected:
  OneRttKeysTest() {
    SeededRandom random{1};
    const TrafficSecret client_secret = random_secret(CipherSuite::kAes128GcmSha256, random);
    const TrafficSecret server_secret = random_secret(CipherSuite::kAes128GcmSha256, random);
    client.keys.install_send_secret(client_secret);
    client.keys.install_receive_secret(server_secret);
    server.keys.install_send_secret(server_secret);
    server.keys.install_receive_secret(client_secret);
    client.keys.confirm_handshake();
    server.keys.confirm_handshake();
  }

  // Each side sends twice; the second packet carries the acknowledgement of what it received.
  void exchange(Time now = k_start) {
    for (int round = 0; round < 2; ++round) {
      ASSERT_EQ(server.open(client.seal(), now).outcome, Outcome::kOpened);
      if (round > 0) server.keys.on_acknowledged({}, server.next_number[0] - 1, now);
      ASSERT_EQ(client.open(server.seal(), now).outcome, Outcome::kOpened);
      client.keys.on_acknowledged({}, client.next_number[0] - 1, now);
    }
  }

  Peer client;
  Peer server;
};

TEST_F(OneRttKeysTest, OpensWhatThePeerSealed) {
  const OpenedPacket opened = server.open(client.seal());
  EXPECT_EQ(opened.outcome, Outcome::kOpened);
  EXPECT_EQ(opened.number, 0u);
  EXPECT_FALSE(opened.key_updated);
  EXPECT_EQ(server.open(client.seal()).number, 1u);
}

TEST_F(OneRttKeysTest, DropsForgedAndShortPackets) {
  const std::vector<std::uint8_t> whole = client.seal();
  for (std::size_t bit = 0; bit < whole.size() * 8; ++bit) {
    std::vector<std::uint8_t> packet = whole;
    packet[bit / 8] ^= static_cast<std::uint8_t>(1 << bit % 8);
    EXPECT_EQ(server.open(packet).outcome, Outcome::kDropped) << "bit " << bit;
  }
  for (std::size_t length = 1; length < whole.size(); ++length) {
    std::vector<std::uint8_t> packet(whole.begin(), whole.begin() + static_cast<long>(length));
    EXPECT_EQ(server.open(packet).outcome, Outcome::kDropped) << "length " << length;
  }
  EXPECT_EQ(server.open(whole).outcome, Outcome::kOpened);
}

TEST_F(OneRttKeysTest, EitherDirectionMayBeMissing) {
  OneRttKeys none;
  EXPECT_FALSE(none.can_send());
  EXPECT_FALSE(none.can_receive());
  EXPECT_EQ(none.send_secret(), nullptr);
  EXPECT_EQ(none.receive_secret(), nullptr);
  EXPECT_FALSE(none.initiate_update(k_start, k_pto));
  none.on_acknowledged({}, 0, k_start);
  EXPECT_EQ(none.updates(), 0u);
  EXPECT_EQ(none.key_phase_bit(), 0);
}

TEST_F(OneRttKeysTest, UpdatesAndThePeerFollows) {
  exchange();
  const TrafficSecret expected = next_generation(*client.keys.send_secret());
  ASSERT_TRUE(client.keys.initiate_update(k_start, k_pto));
  EXPECT_EQ(client.keys.key_phase_bit(), k_key_phase_bit);
  EXPECT_TRUE(std::ranges::equal(client.keys.send_secret()->view(), expected.view()));

  const OpenedPacket opened = server.open(client.seal());
  EXPECT_EQ(opened.outcome, Outcome::kOpened);
  EXPECT_TRUE(opened.key_updated);
  EXPECT_EQ(server.keys.key_phase_bit(), k_key_phase_bit);
  EXPECT_EQ(server.keys.updates(), 1u);
  EXPECT_TRUE(std::ranges::equal(server.keys.receive_secret()->view(), expected.view()));

  const OpenedPacket answer = client.open(server.seal());
  EXPECT_EQ(answer.outcome, Outcome::kOpened);
  EXPECT_FALSE(answer.key_updated);  // it was ours
  EXPECT_EQ(client.keys.updates(), 1u);
}

TEST_F(OneRttKeysTest, UpdatesManyTimesInTurn) {
  exchange();
  Time now = k_start;
  for (std::uint64_t update = 1; update <= 6; ++update) {
    now += 4 * k_pto;
    Peer& initiator = update % 2 == 1 ? client : server;
    ASSERT_TRUE(initiator.keys.initiate_update(now, k_pto)) << update;
    exchange(now);
    EXPECT_EQ(client.keys.updates(), update);
    EXPECT_EQ(server.keys.updates(), update);
  }
}

TEST_F(OneRttKeysTest, BothMayUpdateAtOnce) {
  exchange();
  ASSERT_TRUE(client.keys.initiate_update(k_start, k_pto));
  ASSERT_TRUE(server.keys.initiate_update(k_start, k_pto));
  exchange();
  EXPECT_EQ(client.keys.updates(), 1u);
  EXPECT_EQ(server.keys.updates(), 1u);
}

// RFC 9001 §6.1.
TEST_F(OneRttKeysTest, DoesNotUpdateBeforeTheHandshakeIsConfirmed) {
  Peer early;
  SeededRandom random{2};
  early.keys.install_send_secret(random_secret(CipherSuite::kAes128GcmSha256, random));
  early.seal();
  early.keys.on_acknowledged({}, 0, k_start);
  EXPECT_FALSE(early.keys.initiate_update(k_start, k_pto));
  early.keys.confirm_handshake();
  EXPECT_TRUE(early.keys.initiate_update(k_start, k_pto));
}

TEST_F(OneRttKeysTest, DoesNotUpdateBeforeAPacketOfThePhaseIsAcknowledged) {
  EXPECT_FALSE(client.keys.initiate_update(k_start, k_pto));
  exchange();
  EXPECT_TRUE(client.keys.initiate_update(k_start, k_pto));
  EXPECT_FALSE(client.keys.initiate_update(k_start + 100 * k_pto, k_pto));
}

// RFC 9001 §6.5, RFC 10069 §5.6.
TEST_F(OneRttKeysTest, WaitsThreeProbeTimeoutsBetweenUpdates) {
  exchange();
  ASSERT_TRUE(client.keys.initiate_update(k_start, k_pto));
  exchange(k_start + 10 * k_pto);
  EXPECT_FALSE(client.keys.initiate_update(k_start + 13 * k_pto - Duration(1), k_pto));
  EXPECT_TRUE(client.keys.initiate_update(k_start + 13 * k_pto, k_pto));
}

TEST_F(OneRttKeysTest, KeepsOldKeysForThreeProbeTimeouts) {
  exchange();
  const std::vector<std::uint8_t> first = client.seal();
  const std::vector<std::uint8_t> second = client.seal();
  ASSERT_TRUE(client.keys.initiate_update(k_start, k_pto));
  ASSERT_TRUE(server.open(client.seal()).key_updated);
  EXPECT_EQ(server.open(second, k_start + 3 * k_pto - Duration(1)).outcome, Outcome::kOpened);
  EXPECT_EQ(server.open(first, k_start + 3 * k_pto).outcome, Outcome::kDropped);
}

// RFC 9001 §6.4.
TEST_F(OneRttKeysTest, OldKeysAfterNewOnesAreAnError) {
  exchange();
  Peer old;  // the client's keys, without the update
  old.keys.install_send_secret(*client.keys.send_secret());
  ASSERT_TRUE(client.keys.initiate_update(k_start, k_pto));
  ASSERT_TRUE(server.open(client.seal()).key_updated);
  old.next_number = client.next_number;
  const OpenedPacket opened = server.open(old.seal());
  EXPECT_EQ(opened.outcome, Outcome::kError);
  EXPECT_EQ(opened.error, TransportErrorCode::kKeyUpdateError);
}

TEST_F(OneRttKeysTest, OldKeysOnAnotherPathAreNoError) {
  exchange();
  Peer old;
  old.keys.install_send_secret(*client.keys.send_secret());
  ASSERT_TRUE(client.keys.initiate_update(k_start, k_pto));
  ASSERT_TRUE(server.open(client.seal()).key_updated);
  old.next_number[1] = 1000;
  EXPECT_EQ(server.open(old.seal(PathId{1}), k_start, PathId{1}).outcome, Outcome::kOpened);
}

// RFC 9001 §6.2: an acknowledgement of new keys inside a packet of old ones.
TEST_F(OneRttKeysTest, AcknowledgingNewKeysWithOldOnesIsAnError) {
  exchange();
  ASSERT_TRUE(client.keys.initiate_update(k_start, k_pto));
  client.seal();
  ASSERT_EQ(client.open(server.seal()).outcome, Outcome::kOpened);  // old phase
  client.keys.on_acknowledged({}, client.next_number[0] - 1, k_start);
  const OpenedPacket opened = client.open(server.seal());
  EXPECT_EQ(opened.outcome, Outcome::kError);
  EXPECT_EQ(opened.error, TransportErrorCode::kKeyUpdateError);
}

TEST_F(OneRttKeysTest, AcknowledgingOldKeysDoesNotConfirmTheUpdate) {
  exchange();
  const PacketNumber before = client.next_number[0];
  client.seal();
  ASSERT_TRUE(client.keys.initiate_update(k_start, k_pto));
  client.seal();
  ASSERT_EQ(client.open(server.seal()).outcome, Outcome::kOpened);
  client.keys.on_acknowledged({}, before, k_start);
  EXPECT_EQ(client.open(server.seal()).outcome, Outcome::kOpened);
  EXPECT_FALSE(client.keys.initiate_update(k_start + 100 * k_pto, k_pto));
}

TEST_F(OneRttKeysTest, AnyPathConfirmsTheUpdate) {
  exchange();
  ASSERT_TRUE(client.keys.initiate_update(k_start, k_pto));
  const PathId other{7};
  ASSERT_TRUE(server.open(client.seal(other), k_start, other).key_updated);
  ASSERT_EQ(client.open(server.seal()).outcome, Outcome::kOpened);
  client.keys.on_acknowledged(other, 0, k_start);
  EXPECT_TRUE(client.keys.initiate_update(k_start + 3 * k_pto, k_pto));
}

// RFC 9001 §6.2: nothing that the server sent can have confirmed the first update.
TEST_F(OneRttKeysTest, TwoUpdatesWithoutConfirmationAreAnError) {
  exchange();
  const TrafficSecret first_secret = *client.keys.send_secret();
  ASSERT_TRUE(client.keys.initiate_update(k_start, k_pto));
  ASSERT_TRUE(server.open(client.seal()).key_updated);
  // Without receive keys it takes any acknowledgement for a confirmation.
  Peer hasty;
  hasty.keys.install_send_secret(first_secret);
  hasty.keys.confirm_handshake();
  hasty.next_number = client.next_number;
  for (int update = 0; update < 2; ++update) {
    hasty.seal();
    hasty.keys.on_acknowledged({}, hasty.next_number[0] - 1, k_start);
    ASSERT_TRUE(hasty.keys.initiate_update(k_start + update * 3 * k_pto, k_pto));
  }
  const OpenedPacket opened = server.open(hasty.seal(), k_start + 3 * k_pto);
  EXPECT_EQ(opened.outcome, Outcome::kError);
  EXPECT_EQ(opened.error, TransportErrorCode::kKeyUpdateError);
}

TEST_F(OneRttKeysTest, AFlippedPhaseBitIsOnlyDropped) {
  exchange();
  std::vector<std::uint8_t> packet = client.seal();
  packet[0] ^= k_key_phase_bit;
  EXPECT_EQ(server.open(packet).outcome, Outcome::kDropped);
  EXPECT_EQ(server.keys.updates(), 0u);
}

TEST_F(OneRttKeysTest, WantsAnUpdateAtHalfOfTheConfidentialityLimit) {
  exchange();
  std::vector<std::uint8_t> packet(64);
  std::vector<SealJob> jobs(256, SealJob{.packet = packet.data(),
                                         .payload_length = 4,
                                         .header_length = 13,
                                         .packet_number_length = 4,
                                         .path = {},
                                         .number = 100});
  const std::uint64_t limit = confidentiality_limit(CipherSuite::kAes128GcmSha256);
  std::uint64_t sealed = 0;
  for (; sealed < limit / 2 - 1024; sealed += jobs.size()) client.keys.seal(jobs);
  EXPECT_FALSE(client.keys.wants_update());
  for (; sealed < limit / 2; sealed += jobs.size()) client.keys.seal(jobs);
  EXPECT_TRUE(client.keys.wants_update());
  for (; sealed < limit - 256; sealed += jobs.size()) {
    ASSERT_FALSE(client.keys.confidentiality_limit_reached());
    client.keys.seal(jobs);
  }
  EXPECT_TRUE(client.keys.confidentiality_limit_reached());
  ASSERT_TRUE(client.keys.initiate_update(k_start, k_pto));
  EXPECT_FALSE(client.keys.wants_update());
  EXPECT_FALSE(client.keys.confidentiality_limit_reached());
}

}  // namespace
}  // namespace sheaf::quic
