#include <gtest/gtest.h>

#include "crypto/batch_hasher.h"
#include "crypto/channel_open_keys.h"
#include "crypto/channel_seal_keys.h"
#include "crypto/secrets.h"
#include "wire/packet_header.h"

namespace sheaf::quic {
namespace {

using Added = ChannelOpenKeys::Added;
using ChannelOutcome = ChannelOpenKeys::Outcome;
using Origin = ChannelOpenKeys::Origin;

constexpr Time k_channel_start{std::chrono::hours(1)};
constexpr std::size_t k_channel_payload = 60;

TrafficSecret seeded_secret(std::uint64_t seed, CipherSuite suite = CipherSuite::kAes128GcmSha256) {
  SeededRandom random{seed};
  return random_secret(suite, random);
}

ChannelSecret channel_secret(std::uint64_t sequence, PacketNumber first,
                             CipherSuite suite = CipherSuite::kAes128GcmSha256) {
  return {.sequence = sequence, .first_number = first, .secret = seeded_secret(sequence, suite)};
}

const TrafficSecret k_header_secret = seeded_secret(1000);

// A packet with its header, whose payload repeats the lowest byte of the number
std::vector<std::uint8_t> plain_packet(PacketNumber number, std::uint8_t phase_bit) {
  std::vector<std::uint8_t> packet{static_cast<std::uint8_t>(k_fixed_bit | phase_bit | 3)};
  packet.insert(packet.end(), k_channel_id_length, 0xc1);
  packet.resize(k_channel_header_length);
  store(packet.data() + 9, static_cast<std::uint32_t>(number));
  packet.resize(packet.size() + k_channel_payload, static_cast<std::uint8_t>(number));
  packet.resize(packet.size() + k_aead_tag_length);
  return packet;
}

SealJob job_for(std::vector<std::uint8_t>& packet, PacketNumber number) {
  return {.packet = packet.data(),
          .payload_length = static_cast<std::uint32_t>(packet.size() - k_channel_header_length -
                                                       k_aead_tag_length),
          .header_length = k_channel_header_length,
          .packet_number_length = 4,
          .path = {},
          .number = number};
}

std::vector<std::uint8_t> seal_next(ChannelSealKeys& keys) {
  const PacketNumber number = keys.next_number();
  auto packet = plain_packet(number, keys.key_phase_bit());
  const SealJob job = job_for(packet, number);
  EXPECT_TRUE(keys.seal({&job, 1}));
  return packet;
}

ChannelOutcome open_packet(ChannelOpenKeys& keys, Bytes packet, Origin origin = Origin::kProven,
                           Time now = k_channel_start) {
  const auto header = keys.read_header(packet);
  if (!header) return ChannelOutcome::kNoKey;
  std::vector<std::uint8_t> opened(packet.size());
  const std::vector<std::uint8_t> before(packet.begin(), packet.end());
  const ChannelOutcome outcome = keys.open(*header, packet, origin, now, opened.data());
  EXPECT_TRUE(std::ranges::equal(packet, before)) << "the sealed packet must stay";
  if (outcome == ChannelOutcome::kOpened) {
    EXPECT_EQ(opened[0], static_cast<std::uint8_t>(header->number));
    EXPECT_EQ(opened[k_channel_payload - 1], static_cast<std::uint8_t>(header->number));
  }
  return outcome;
}

// Appendix of draft-jholland-quic-multicast: the example of RFC 9001 §A.5 as a packet of a channel
TEST(ChannelKeys, SealsTheExampleOfTheDraft) {
  const TrafficSecret secret =
      make_secret(CipherSuite::kChacha20Poly1305Sha256,
                  from_hex("9ac312a7f877468ebe69422748ad00a15443f18203a07d6060f688f30f21632b"));
  ChannelSealKeys source(secret, {.sequence = 0, .first_number = 0x2700bff4, .secret = secret});
  auto packet = from_hex("438394c8f03e5157082700bff401");
  packet.resize(packet.size() + k_aead_tag_length);
  const SealJob job = job_for(packet, 0x2700bff4);
  ASSERT_TRUE(source.seal({&job, 1}));
  EXPECT_EQ(packet, from_hex("498394c8f03e515708c232c2f465ddc0fea10a2a521305590135fbba5297"));
  const Sha256Digest digest = make_batch_hasher()->hash_one(packet);
  EXPECT_TRUE(std::ranges::equal(Bytes(digest).first(4), from_hex("ade45c42")));
  EXPECT_TRUE(std::ranges::equal(Bytes(digest).last(4), from_hex("edb89056")));

  ChannelOpenKeys member(secret);
  ASSERT_EQ(
      member.add({.sequence = 0, .first_number = 0x2700bff0, .secret = secret}, k_channel_start),
      Added::kAdded);
  const auto header = member.read_header(packet);
  ASSERT_TRUE(header);
  EXPECT_EQ(header->number, 0x2700bff4u);
  std::uint8_t payload[1];
  EXPECT_EQ(member.open(*header, packet, Origin::kProven, k_channel_start, payload),
            ChannelOutcome::kOpened);
  EXPECT_EQ(payload[0], 1);
}

// Forward erasure correction recovers what stands behind the number.
TEST(ChannelKeys, RestoreTheHeaderOfARecoveredPacket) {
  ChannelSealKeys source(k_header_secret, channel_secret(1, 40));
  ChannelOpenKeys member(k_header_secret);
  ASSERT_EQ(member.add(channel_secret(1, 40), k_channel_start), Added::kAdded);
  const std::vector<std::uint8_t> channel(k_channel_id_length, 0xc1);
  for (const std::uint8_t proof : {std::uint8_t{0}, k_channel_proof_bit}) {
    const PacketNumber number = source.next_number();
    auto sealed = plain_packet(number, static_cast<std::uint8_t>(source.key_phase_bit() | proof));
    const SealJob job = job_for(sealed, number);
    ASSERT_TRUE(source.seal({&job, 1}));
    auto recovered = sealed;
    std::fill_n(recovered.begin(), k_channel_header_length, std::uint8_t{0xee});
    std::vector<std::uint8_t> opened(sealed.size());
    EXPECT_EQ(member.restore_header(channel, number, recovered, opened.data()),
              ChannelOutcome::kOpened);
    EXPECT_EQ(recovered, sealed);
    EXPECT_EQ(member.restore_header(channel, number + 1, recovered, opened.data()),
              ChannelOutcome::kWrongTag);
    EXPECT_EQ(member.restore_header(channel, 39, recovered, opened.data()), ChannelOutcome::kNoKey);
    EXPECT_EQ(
        member.restore_header(channel, number, MutableBytes(recovered).first(28), opened.data()),
        ChannelOutcome::kWrongTag);
  }
}

TEST(ChannelKeys, FollowTheSourceThroughManyKeys) {
  for (CipherSuite suite : k_all_suites) {
    const TrafficSecret header_secret = seeded_secret(1000, suite);
    ChannelSealKeys source(header_secret, channel_secret(0, 0, suite));
    ChannelOpenKeys member(header_secret);
    ASSERT_EQ(member.add(channel_secret(0, 0, suite), k_channel_start), Added::kAdded);
    Time now = k_channel_start;
    std::vector<std::vector<std::uint8_t>> unopened{seal_next(source)};
    for (std::uint64_t sequence = 1; sequence < 12; ++sequence) {
      const ChannelSecret next = channel_secret(sequence, source.next_number() + 5, suite);
      ASSERT_EQ(member.add(next, k_channel_start), Added::kAdded) << sequence;
      for (int i = 0; i < 5; ++i) {
        ASSERT_EQ(open_packet(member, seal_next(source), Origin::kProven, now),
                  ChannelOutcome::kOpened);
      }
      ASSERT_TRUE(source.change(next));
      EXPECT_EQ(source.key_phase_bit(), sequence % 2 == 0 ? 0 : k_key_phase_bit);
      unopened.push_back(seal_next(source));
      now += 4s;
      member.expire(now);
      if (sequence < 2) continue;
      EXPECT_EQ(open_packet(member, unopened[sequence - 2], Origin::kProven, now),
                ChannelOutcome::kNoKey)
          << "an old key goes";
    }
  }
}

TEST(ChannelKeys, SourceRefusesWhatWouldRepeatANonce) {
  ChannelSealKeys source(k_header_secret, channel_secret(0, 7));
  auto packet = plain_packet(7, 0);
  const SealJob good = job_for(packet, 7);
  SealJob other = good;
  other.number = 8;
  EXPECT_FALSE(source.seal({&other, 1})) << "a gap";
  other = good;
  other.path = PathId{1};
  EXPECT_FALSE(source.seal({&other, 1}));
  other = good;
  other.packet_number_length = 3;
  EXPECT_FALSE(source.seal({&other, 1}));
  auto wrong_phase = plain_packet(7, k_key_phase_bit);
  other = job_for(wrong_phase, 7);
  EXPECT_FALSE(source.seal({&other, 1}));
  ASSERT_TRUE(source.seal({&good, 1}));
  EXPECT_FALSE(source.seal({&good, 1})) << "the same number again";
  EXPECT_FALSE(source.change(channel_secret(2, 8)));
  EXPECT_FALSE(source.change(channel_secret(1, 9)));
  EXPECT_FALSE(source.change(channel_secret(1, 8, CipherSuite::kAes256GcmSha384)));
  EXPECT_TRUE(source.change(channel_secret(1, 8)));
}

// RFC 9001 §6.6: 2^23 packets
TEST(ChannelKeys, SourceStopsAtTheLimitOfItsKey) {
  ChannelSealKeys source(k_header_secret, channel_secret(0, 0));
  auto packet = plain_packet(0, 0);
  packet.resize(k_channel_header_length + 4 + k_aead_tag_length);
  constexpr std::size_t k_batch = 1 << 12;
  std::vector<SealJob> jobs(k_batch, job_for(packet, 0));
  bool sealed = true;
  std::uint64_t count = 0;
  while (sealed && count <= 1u << 23) {
    for (std::size_t i = 0; i < k_batch; ++i) {
      packet[0] = k_fixed_bit | 3;  // each job seals the same bytes again
      jobs[i].number = count + i;
    }
    sealed = true;
    for (std::size_t i = 0; i < k_batch && sealed; ++i) {
      packet[0] = k_fixed_bit | 3;
      sealed = source.seal({&jobs[i], 1});
      if (sealed) ++count;
    }
    EXPECT_EQ(source.wants_new_key(), count >= 1u << 22);
  }
  EXPECT_FALSE(sealed);
  EXPECT_LE(count, 1u << 23);
  EXPECT_GT(count, (1u << 23) - 1000);
  EXPECT_TRUE(source.change(channel_secret(1, count)));
  EXPECT_FALSE(source.wants_new_key());
}

TEST(ChannelKeys, NumbersAreDecodedAroundTheLargestOpened) {
  constexpr PacketNumber k_first = (std::uint64_t{1} << 32) - 3;
  ChannelSealKeys source(k_header_secret, channel_secret(4, k_first));
  ChannelOpenKeys member(k_header_secret);
  ASSERT_EQ(member.add(channel_secret(4, k_first), k_channel_start), Added::kAdded);
  for (int i = 0; i < 6; ++i) {
    const auto packet = seal_next(source);
    const auto header = member.read_header(packet);
    ASSERT_TRUE(header);
    EXPECT_EQ(header->number, k_first + static_cast<PacketNumber>(i));
    ASSERT_EQ(open_packet(member, packet), ChannelOutcome::kOpened);
  }
}

TEST(ChannelKeys, UnprovenPacketsLeadNobodyAstray) {
  // Another member has all keys, and seals a packet far ahead.
  ChannelSealKeys forger(k_header_secret, channel_secret(0, 1u << 30));
  ChannelOpenKeys member(k_header_secret);
  ASSERT_EQ(member.add(channel_secret(0, 0), k_channel_start), Added::kAdded);
  ASSERT_EQ(member.add(channel_secret(1, 1u << 29), k_channel_start), Added::kAdded);
  ChannelSealKeys forger_of_next(k_header_secret, channel_secret(1, 1u << 30));
  EXPECT_EQ(open_packet(member, seal_next(forger), Origin::kUnproven), ChannelOutcome::kNoKey)
      << "the phase of another key";
  EXPECT_EQ(open_packet(member, seal_next(forger_of_next), Origin::kUnproven),
            ChannelOutcome::kOpened);
  EXPECT_EQ(member.next_expiry(), k_never);
  ChannelSealKeys source(k_header_secret, channel_secret(0, 0));
  EXPECT_EQ(open_packet(member, seal_next(source)), ChannelOutcome::kOpened);
}

TEST(ChannelKeys, OldKeysGoWhenTheyAreNotUsed) {
  ChannelSealKeys source(k_header_secret, channel_secret(0, 0));
  ChannelOpenKeys member(k_header_secret);
  ASSERT_EQ(member.add(channel_secret(0, 0), k_channel_start), Added::kAdded);
  std::vector<std::vector<std::uint8_t>> late;
  for (int i = 0; i < 20; ++i) late.push_back(seal_next(source));
  ASSERT_EQ(member.add(channel_secret(1, 20), k_channel_start), Added::kAdded);
  ASSERT_TRUE(source.change(channel_secret(1, 20)));
  EXPECT_EQ(open_packet(member, late[0]), ChannelOutcome::kOpened);
  member.expire(k_channel_start + 100s);
  EXPECT_EQ(open_packet(member, late[10]), ChannelOutcome::kOpened)
      << "nothing came under the next key yet";

  ASSERT_EQ(open_packet(member, seal_next(source)), ChannelOutcome::kOpened);
  EXPECT_EQ(member.next_expiry(), k_channel_start + 3s);
  EXPECT_EQ(open_packet(member, late[1], Origin::kProven, k_channel_start + 2s),
            ChannelOutcome::kOpened);
  EXPECT_EQ(member.next_expiry(), k_channel_start + 12s);
  for (std::size_t i = 2; i < 10; ++i) {
    const Time now = k_channel_start + (i - 1) * 8s;
    member.expire(now);
    const bool there = now < k_channel_start + 60s;
    EXPECT_EQ(open_packet(member, late[i], Origin::kProven, now),
              there ? ChannelOutcome::kOpened : ChannelOutcome::kNoKey);
  }
}

// The source gave a key up before it began, and chose another one.
TEST(ChannelKeys, ASecondKeyReplacesOneThatIsNotInUse) {
  ChannelSealKeys source(k_header_secret, channel_secret(0, 0));
  ChannelOpenKeys member(k_header_secret);
  ASSERT_EQ(member.add(channel_secret(0, 0), k_channel_start), Added::kAdded);
  ASSERT_EQ(open_packet(member, seal_next(source)), ChannelOutcome::kOpened);
  ASSERT_EQ(member.add(channel_secret(1, 9), k_channel_start), Added::kAdded);
  const auto second = [](PacketNumber first, std::uint64_t seed) {
    return ChannelSecret{.sequence = 1, .first_number = first, .secret = seeded_secret(seed)};
  };
  EXPECT_EQ(member.add(second(0, 50), k_channel_start), Added::kInvalid)
      << "where the key before begins";
  EXPECT_EQ(member.add(second(3, 50), k_channel_start), Added::kAdded);
  EXPECT_EQ(member.add(second(1, 51), k_channel_start), Added::kAdded);
  ASSERT_TRUE(source.change(second(1, 50)));
  ASSERT_TRUE(source.change(second(1, 51))) << "nothing was sealed with the other";
  EXPECT_EQ(open_packet(member, seal_next(source)), ChannelOutcome::kOpened);
  EXPECT_FALSE(source.change(second(2, 52))) << "something was";
  EXPECT_EQ(member.add(second(2, 52), k_channel_start), Added::kKnown);
  EXPECT_EQ(open_packet(member, seal_next(source)), ChannelOutcome::kOpened);
}

TEST(ChannelKeys, HoldFourKeysAtMost) {
  ChannelOpenKeys member(k_header_secret);
  for (std::uint64_t i = 0; i < 4; ++i) {
    ASSERT_EQ(member.add(channel_secret(i, i * 2), k_channel_start), Added::kAdded);
  }
  EXPECT_EQ(member.add(channel_secret(4, 8), k_channel_start), Added::kTooMany);
  EXPECT_EQ(member.add(channel_secret(2, 8), k_channel_start), Added::kKnown);
  ChannelSealKeys source(k_header_secret, channel_secret(1, 2));
  ASSERT_EQ(open_packet(member, seal_next(source)), ChannelOutcome::kOpened);
  EXPECT_EQ(member.add(channel_secret(4, 6), k_channel_start), Added::kInvalid);
  EXPECT_EQ(member.add(channel_secret(4, std::uint64_t{1} << 40), k_channel_start),
            Added::kInvalid);
  EXPECT_EQ(member.add(channel_secret(4, 8, CipherSuite::kAes256GcmSha384), k_channel_start),
            Added::kInvalid);
  EXPECT_EQ(member.add(channel_secret(4, 8), k_channel_start), Added::kAdded);
}

TEST(ChannelKeys, GoOnAfterAnOutageThatWasLongerThanFourKeys) {
  ChannelOpenKeys member(k_header_secret);
  for (std::uint64_t i = 0; i < 4; ++i) {
    ASSERT_EQ(member.add(channel_secret(i, i * 2), k_channel_start), Added::kAdded);
  }
  ChannelSealKeys before(k_header_secret, channel_secret(0, 0));
  ASSERT_EQ(open_packet(member, seal_next(before)), ChannelOutcome::kOpened);
  EXPECT_EQ(member.add(channel_secret(4, 8), k_channel_start + 2999ms), Added::kTooMany);
  for (std::uint64_t i = 4; i < 9; ++i) {
    ASSERT_EQ(member.add(channel_secret(i, i * 2), k_channel_start + 3s), Added::kAdded);
  }
  ChannelSealKeys after(k_header_secret, channel_secret(8, 16));
  EXPECT_EQ(open_packet(member, seal_next(after)), ChannelOutcome::kOpened);
}

TEST(ChannelKeys, ForgedPacketsAreRefusedUnderEachKey) {
  ChannelSealKeys source(k_header_secret, channel_secret(0, 0));
  ChannelOpenKeys member(k_header_secret);
  ASSERT_EQ(member.add(channel_secret(0, 0), k_channel_start), Added::kAdded);
  ASSERT_EQ(member.add(channel_secret(1, 1), k_channel_start), Added::kAdded);
  auto first = seal_next(source);
  ASSERT_TRUE(source.change(channel_secret(1, 1)));
  auto second = seal_next(source);
  // Bytes behind the sample: the header is read the same.
  first.back() ^= 1;
  second.back() ^= 1;
  EXPECT_EQ(open_packet(member, first), ChannelOutcome::kWrongTag);
  EXPECT_EQ(open_packet(member, second), ChannelOutcome::kWrongTag);
}

TEST(ChannelKeys, RefuseOtherFormsAndEveryTruncation) {
  ChannelSealKeys source(k_header_secret, channel_secret(0, 0));
  ChannelOpenKeys member(k_header_secret);
  auto packet = seal_next(source);
  EXPECT_FALSE(member.read_header(packet)) << "no key yet";
  ASSERT_EQ(member.add(channel_secret(0, 0), k_channel_start), Added::kAdded);
  for (std::size_t length = 0; length < packet.size(); ++length) {
    EXPECT_NE(open_packet(member, Bytes(packet).first(length)), ChannelOutcome::kOpened) << length;
  }
  const auto header = member.read_header(packet);
  ASSERT_TRUE(header);
  std::vector<std::uint8_t> out(packet.size());
  for (std::size_t length = 0; length < k_channel_header_length + k_aead_tag_length; ++length) {
    EXPECT_EQ(member.open(*header, Bytes(packet).first(length), Origin::kProven, k_channel_start,
                          out.data()),
              ChannelOutcome::kWrongTag);
  }
  auto long_header = packet;
  long_header[0] |= 0x80;
  EXPECT_FALSE(member.read_header(long_header));
  EXPECT_EQ(open_packet(member, packet), ChannelOutcome::kOpened);
}

}  // namespace
}  // namespace sheaf::quic
