#include "direct_return/phase_sealer.h"

#include <gtest/gtest.h>

#include "direct_return/messages.h"
#include "sim/direct_return/return_network.h"
#include "util/contains.h"

namespace sheaf::quic {
namespace {

constexpr std::uint64_t k_connection = 77;

PhaseKeys keys_of(CipherSuite suite, std::uint64_t generation) {
  PhaseKeys keys;
  keys.suite = suite;
  keys.packet.key_length = keys.header.key_length = key_length(suite);
  for (std::uint8_t i = 0; i < keys.packet.key_length; ++i) {
    keys.packet.key[i] = static_cast<std::uint8_t>(i + 7 * generation);
    keys.header.key[i] = static_cast<std::uint8_t>(0x80 + i);
  }
  keys.packet.iv.fill(static_cast<std::uint8_t>(generation));
  keys.generation = generation;
  keys.first_number = 100 * generation;
  return keys;
}

class PhaseSealerTest : public ::testing::TestWithParam<CipherSuite> {
 protected:
  PhaseKeys next_ = keys_of(GetParam(), 4);
  PhaseChange sealed_ = PhaseSealer(next_).seal(k_connection, next_);
  // Of a node that has the keys of an earlier phase
  PhaseSealer opener_{keys_of(GetParam(), 3)};
};

TEST_P(PhaseSealerTest, IsOpenedWithTheKeysOfAnotherPhase) {
  const auto opened = opener_.open(sealed_);
  ASSERT_TRUE(opened);
  EXPECT_EQ(opened->packet.key, next_.packet.key);
  EXPECT_EQ(opened->packet.iv, next_.packet.iv);
  EXPECT_EQ(opened->packet.key_length, next_.packet.key_length);
  EXPECT_EQ(opened->generation, 4u);
  EXPECT_EQ(opened->first_number, 400u);
  EXPECT_EQ(opened->suite, GetParam());
  EXPECT_TRUE(opened->valid());
  EXPECT_EQ(opened->header.key, PacketKeys().key);
}

TEST_P(PhaseSealerTest, HoldsNoKey) {
  EXPECT_FALSE(contains(sealed_.sealed, Bytes(next_.packet.key).first(4)));
  EXPECT_FALSE(contains(sealed_.sealed, Bytes(next_.packet.iv).first(4)));
  EXPECT_EQ(PhaseSealer(next_).seal(k_connection, next_), sealed_);
}

TEST_P(PhaseSealerTest, IsRefusedWhenAnythingIsChanged) {
  PhaseChange changed = sealed_;
  ++changed.connection;
  EXPECT_FALSE(opener_.open(changed));
  changed = sealed_;
  ++changed.generation;
  EXPECT_FALSE(opener_.open(changed));
  changed = sealed_;
  ++changed.first_number;
  EXPECT_FALSE(opener_.open(changed));
  for (std::size_t i = 0; i < sealed_.sealed.size(); ++i) {
    changed = sealed_;
    changed.sealed[i] ^= 1;
    EXPECT_FALSE(opener_.open(changed)) << i;
  }
}

TEST_P(PhaseSealerTest, IsRefusedOfAnotherPathOrConnection) {
  PhaseKeys other = keys_of(GetParam(), 3);
  other.path = PathId{2};
  EXPECT_FALSE(PhaseSealer(other).open(sealed_));
  other = keys_of(GetParam(), 3);
  other.header.key[0] ^= 1;
  EXPECT_FALSE(PhaseSealer(other).open(sealed_));
}

INSTANTIATE_TEST_SUITE_P(Suites, PhaseSealerTest,
                         testing::Values(CipherSuite::kAes128GcmSha256,
                                         CipherSuite::kAes256GcmSha384,
                                         CipherSuite::kChacha20Poly1305Sha256));

// No key lies in the datagrams that the transport between both nodes carries, keeps and overwrites.
TEST(PhaseMessages, HoldNoKeys) {
  ReturnNetwork::Options options;
  options.access = {.queue_bytes = 16 << 20, .rate = 12'500'000, .delay = 20ms};
  options.backends = {{.order = 100us, .way = 100us}};
  ReturnNetwork network(1, options);
  std::vector<std::vector<std::uint8_t>> carried;
  const auto carry = network.gateway.on_message;
  network.gateway.on_message = [&](std::size_t backend, std::vector<std::uint8_t> message) {
    carried.push_back(message);
    carry(backend, std::move(message));
  };
  network.request(0, 5'000'000);
  Connection& gateway = network.pair.server.connection;
  std::vector<PhaseKeys> used;
  std::size_t updates = 0;
  const auto note = [&] {
    const auto keys = gateway.extension().keys().phase_for_sending(PathId{0});
    if (keys) used.push_back(*keys);
  };
  for (int i = 0; i < 4; ++i) {
    network.simulation.run_for(100ms);
    note();
    updates += gateway.initiate_key_update(network.simulation.now()) ? 1 : 0;
  }
  network.simulation.run_until([&] { return network.all_finished(); }, 20s);
  EXPECT_TRUE(network.all_finished() && network.all_intact());
  note();
  std::size_t phases = 0;
  for (const auto& bytes : carried) {
    const auto datagram = decode_run_datagram(bytes);
    ASSERT_TRUE(datagram);
    phases += std::holds_alternative<std::vector<PhaseChange>>(datagram->messages) ? 1 : 0;
    for (const PhaseKeys& keys : used) {
      EXPECT_FALSE(contains(bytes, Bytes(keys.packet.key).first(8)));
      EXPECT_FALSE(contains(bytes, keys.packet.iv));
    }
  }
  EXPECT_GE(phases, updates);
  EXPECT_EQ(used.back().generation, updates);
  EXPECT_GE(updates, 1u);
}

}  // namespace
}  // namespace sheaf::quic
