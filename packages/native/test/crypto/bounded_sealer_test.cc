#include "crypto/bounded_sealer.h"

#include <gtest/gtest.h>

#include <set>

#include "crypto/key_peer.h"
#include "crypto/run_packets.h"

namespace sheaf::quic {
namespace {

using Outcome = OpenedPacket::Outcome;

constexpr PathId k_bounded_path{0};

class BoundedSealerTest : public testing::TestWithParam<CipherSuite>, protected KeyPair {
 protected:
  BoundedSealerTest() : KeyPair(KeyMode::kShared, GetParam()) {}

  bool seal(PacketNumber first, std::size_t count) {
    RunPackets run(k_bounded_path, first, count, sealer.key_phase_bit());
    return sealer.seal(run.jobs);
  }
  PhaseKeys lent() { return *server.keys.phase_for_sending(k_bounded_path); }

  BoundedSealer sealer{lent()};
};

INSTANTIATE_TEST_SUITE_P(Suites, BoundedSealerTest, testing::ValuesIn(k_all_suites),
                         [](const auto& suite) {
                           return suite.param == CipherSuite::kAes128GcmSha256   ? "Aes128"
                                  : suite.param == CipherSuite::kAes256GcmSha384 ? "Aes256"
                                                                                 : "ChaCha20";
                         });

TEST_P(BoundedSealerTest, SealsTheBytesThatTheLenderWouldSeal) {
  ASSERT_TRUE(sealer.permit(0, 4, 0));
  RunPackets run(k_bounded_path, 0, 4, 0);
  ASSERT_TRUE(sealer.seal(run.jobs));
  for (const auto& packet : run.packets) {
    EXPECT_EQ(client.open(packet).outcome, Outcome::kOpened);
    EXPECT_EQ(packet, server.seal());  // the lender knows nothing of the run here
  }
}

TEST_P(BoundedSealerTest, SealsInsideTheRunAlone) {
  EXPECT_FALSE(seal(0, 1)) << "nothing is permitted yet";
  ASSERT_TRUE(sealer.permit(10, 4, 0));
  EXPECT_FALSE(seal(9, 1));
  EXPECT_FALSE(seal(14, 1));
  EXPECT_FALSE(seal(13, 2));
  EXPECT_FALSE(seal(9, 6));
  EXPECT_TRUE(seal(10, 4));
  EXPECT_FALSE(seal(14, 1));
}

TEST_P(BoundedSealerTest, SealsEachNumberOnceAndInOrder) {
  ASSERT_TRUE(sealer.permit(10, 8, 0));
  EXPECT_TRUE(seal(12, 2));
  EXPECT_FALSE(seal(13, 1));
  EXPECT_FALSE(seal(10, 1)) << "below what was sealed";
  RunPackets twice(k_bounded_path, 14, 1, 0);
  twice.jobs.push_back(twice.jobs.front());
  EXPECT_FALSE(sealer.seal(twice.jobs));
  EXPECT_TRUE(seal(14, 4));
}

TEST_P(BoundedSealerTest, RefusedPacketsStayAsTheyWere) {
  ASSERT_TRUE(sealer.permit(10, 4, 0));
  RunPackets run(k_bounded_path, 12, 3, 0);  // the last is outside
  const auto before = run.packets;
  EXPECT_FALSE(sealer.seal(run.jobs));
  EXPECT_EQ(run.packets, before);
}

TEST_P(BoundedSealerTest, RunsOnlyRise) {
  ASSERT_TRUE(sealer.permit(10, 4, 0));
  EXPECT_FALSE(sealer.permit(10, 4, 0)) << "repeated before it was sealed";
  EXPECT_TRUE(seal(10, 1));
  EXPECT_FALSE(sealer.permit(10, 4, 0)) << "repeated";
  EXPECT_FALSE(sealer.permit(2, 4, 0)) << "late";
  EXPECT_FALSE(sealer.permit(13, 4, 0)) << "overlapping";
  EXPECT_FALSE(sealer.permit(20, 0, 0)) << "empty";
  EXPECT_FALSE(sealer.permit(PhaseKeys::k_limit - 1, 4, 0)) << "beyond all numbers";
  EXPECT_FALSE(sealer.permit(UINT64_MAX, 1, 0));
  EXPECT_TRUE(seal(11, 1)) << "refusals change nothing";
  ASSERT_TRUE(sealer.permit(20, 4, 0));
  EXPECT_FALSE(seal(12, 1)) << "of the run before";
  EXPECT_EQ(sealer.next_run(), 24u);
}

// Keys that are lent later permit nothing from before, even if a message of an earlier grant comes.
TEST_P(BoundedSealerTest, BeginsAboveWhatTheLenderHasNumbered) {
  ASSERT_TRUE(server.keys.note_numbered_elsewhere(k_bounded_path, 0, 32));
  BoundedSealer later(lent());
  EXPECT_FALSE(later.permit(0, 32, 0));
  EXPECT_FALSE(later.permit(31, 2, 0));
  EXPECT_TRUE(later.permit(32, 32, 0));
}

TEST_P(BoundedSealerTest, SealsOnlyPacketsOfItsPathAndPhaseWithNumbersOfFourBytes) {
  ASSERT_TRUE(sealer.permit(0, 8, 0));
  const auto refuses = [&](auto&& change) {
    RunPackets run(k_bounded_path, 0, 1, 0);
    change(run.jobs[0]);
    return !sealer.seal(run.jobs);
  };
  EXPECT_TRUE(refuses([](SealJob& job) { job.path = PathId{1}; }));
  EXPECT_TRUE(refuses([](SealJob& job) { job.packet[0] ^= k_key_phase_bit; }));
  EXPECT_TRUE(refuses([](SealJob& job) { job.packet[0] |= k_long_header_bit; }));
  EXPECT_TRUE(refuses([](SealJob& job) { job.packet_number_length = 2; }));
  EXPECT_FALSE(refuses([](SealJob& job) { job.packet[0] ^= k_fixed_bit | k_spin_bit; }));
}

TEST_P(BoundedSealerTest, FollowsALaterPhase) {
  exchange();
  const PhaseKeys first = lent();
  sealer = BoundedSealer(first);
  ASSERT_TRUE(sealer.permit(4, 8, 0));
  ASSERT_TRUE(server.keys.note_numbered_elsewhere(k_bounded_path, 4, 8));
  ASSERT_TRUE(server.keys.initiate_update(k_bounded_path, k_start, k_pto));
  const PhaseKeys second = lent();
  EXPECT_EQ(second.phase_name(), 1);
  EXPECT_FALSE(sealer.permit(20, 8, 1)) << "before the keys of the phase";

  PhaseKeys without_header = second;
  without_header.header.key = {};
  ASSERT_TRUE(sealer.follow(without_header));
  EXPECT_FALSE(seal(4, 1)) << "a run of the phase before";
  EXPECT_FALSE(sealer.permit(20, 8, 0)) << "named for the phase before";
  EXPECT_FALSE(sealer.permit(11, 8, 1)) << "below the first number of the phase";
  ASSERT_TRUE(sealer.permit(12, 2, 1));
  RunPackets run(k_bounded_path, 12, 2, sealer.key_phase_bit());
  ASSERT_TRUE(sealer.seal(run.jobs));
  EXPECT_TRUE(client.open(run.packets[0]).key_updated);
  EXPECT_EQ(client.open(run.packets[1]).outcome, Outcome::kOpened);
}

TEST_P(BoundedSealerTest, FollowsNoPhaseTwiceNorBackwards) {
  exchange();
  const PhaseKeys first = lent();
  ASSERT_TRUE(server.keys.initiate_update(k_bounded_path, k_start, k_pto));
  const PhaseKeys second = lent();
  EXPECT_FALSE(sealer.follow(first));
  ASSERT_TRUE(sealer.follow(second));
  ASSERT_TRUE(sealer.permit(second.first_number, 4, 1));
  ASSERT_TRUE(seal(second.first_number, 4));
  EXPECT_FALSE(sealer.follow(second));
  EXPECT_FALSE(sealer.follow(first));
  EXPECT_FALSE(sealer.permit(second.first_number, 4, 1))
      << "a repeated phase permits nothing again";

  const auto refuses = [&](auto&& change) {
    PhaseKeys third = second;
    third.generation = 2;
    change(third);
    return !sealer.follow(third);
  };
  EXPECT_TRUE(refuses([](PhaseKeys& keys) { keys.path = PathId{1}; }));
  EXPECT_TRUE(refuses([](PhaseKeys& keys) { keys.packet.key_length = 1; }));
  EXPECT_TRUE(refuses([](PhaseKeys& keys) {
    const bool aes = keys.suite != CipherSuite::kChacha20Poly1305Sha256;
    keys.suite = aes ? CipherSuite::kChacha20Poly1305Sha256 : CipherSuite::kAes128GcmSha256;
    keys.packet.key_length = keys.header.key_length = key_length(keys.suite);
  }));
  EXPECT_FALSE(refuses([](PhaseKeys&) {}));
}

// Eight updates later the phase has the same name, but a sealer that missed some does not know it.
TEST(PhaseNames, DifferForEightPhases) {
  PhaseKeys keys;
  std::set<std::uint8_t> names;
  for (keys.generation = 0; keys.generation < PhaseKeys::k_phase_names; ++keys.generation) {
    EXPECT_EQ(keys.key_phase_bit() != 0, keys.generation % 2 == 1);
    EXPECT_TRUE(names.insert(keys.phase_name()).second);
  }
}

}  // namespace
}  // namespace sheaf::quic
