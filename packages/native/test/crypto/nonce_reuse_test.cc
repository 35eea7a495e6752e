// Tests that no pair of key and nonce is used twice, whatever several nodes do with the paths of a
// connection. The test does not rely on what the code believes it used: a pair determines a
// keystream, and the first 16 bytes of a sealed payload of zeroes are that keystream.
#include <gtest/gtest.h>

#include <set>

#include "crypto/key_peer.h"

namespace sheaf::quic {
namespace {

using Outcome = OpenedPacket::Outcome;

constexpr std::uint32_t k_paths = 6;
constexpr std::size_t k_operations = 3000;

struct Packet {
  PathId path;
  bool from_client = false;
  std::vector<std::uint8_t> bytes;
  std::optional<PacketNumber> acknowledges = {};
};

// Runs a client, a primary, and backends that paths are handed to. Packets are lost, late and out
// of order.
class NonceWorld {
 public:
  NonceWorld(KeyMode mode, std::uint64_t seed) : pair_(mode), random_(seed), nodes_(k_nodes) {
    nodes_[0] = &pair_.server;
    for (std::size_t i = 1; i < k_nodes; ++i) nodes_[i] = &backends_[i - 1];
  }

  void run() {
    for (std::size_t i = 0; i < k_operations; ++i) step();
    EXPECT_GT(keystreams_.size(), k_operations / 4);
    EXPECT_GT(opened_, k_operations / 8);
    EXPECT_GT(handed_over, 0u);
    EXPECT_GT(pair_.client.keys.updates(), 0u);
  }
  std::size_t handed_over = 0;

 private:
  static constexpr std::size_t k_nodes = 5;

  void step() {
    const PathId path{static_cast<std::uint32_t>(random_.below(k_paths))};
    switch (random_.below(16)) {
      case 0:
        now_ += random_.below(4) * k_pto;
        return;
      case 1:
        any().keys.initiate_update(path, now_, k_pto);
        return;
      case 2:
        pair_.client.keys.initiate_update(path, now_, k_pto);
        return;
      case 3:
        if (random_.below(10) == 0) hand_over(path);
        return;
      case 4:
        return seal_again(random_.below(2) == 0 ? pair_.client : any(), path);
      case 5:
        if (random_.below(100) == 0) any().keys.forget(path);
        return;
      case 6:
      case 7:
        return deliver_one();
      default:
        return converse(path);
    }
  }

  KeyPeer& any() { return *nodes_[random_.below(k_nodes)]; }
  KeyPeer* holder(PathId path) {
    for (KeyPeer* node : nodes_) {
      if (node->keys.can_send(path)) return node;
    }
    return nullptr;
  }

  // Sends one packet in each direction; one in four stays in flight.
  void converse(PathId path) {
    send(path, pair_.client, true);
    for (KeyPeer* node : nodes_) send(path, *node, false);  // all that can
    EXPECT_LE(senders_, 1u) << "two nodes seal on one path";
  }

  void send(PathId path, KeyPeer& from, bool from_client) {
    if (from_client) senders_ = 0;
    const std::vector<std::uint8_t> bytes = seal(from, path);
    if (bytes.empty()) return;
    if (!from_client) ++senders_;
    Packet packet{.path = path, .from_client = from_client, .bytes = bytes};
    const auto received = from.largest_received.find(path.value);
    if (received != from.largest_received.end()) packet.acknowledges = received->second;
    if (random_.below(4) == 0) {
      in_flight_.push_back(std::move(packet));
    } else {
      deliver(packet, false);
    }
  }

  std::vector<std::uint8_t> seal(KeyPeer& from, PathId path) {
    const bool could = from.keys.can_send(path);
    if (could && random_.below(8) == 0) from.next_number[path.value] += random_.below(3);
    std::vector<std::uint8_t> bytes = from.seal(path);
    EXPECT_EQ(!bytes.empty(), could);
    if (!bytes.empty()) record(bytes);
    return bytes;
  }

  void record(const std::vector<std::uint8_t>& bytes) {
    const auto begin = bytes.begin() + k_packet_number_offset + 4;
    EXPECT_TRUE(keystreams_.emplace(begin, begin + 16).second) << "a keystream came again";
  }

  // A number that was used or skipped cannot be used again.
  void seal_again(KeyPeer& node, PathId path) {
    PacketNumber& next = node.next_number[path.value];
    if (next == 0) return;
    const PacketNumber saved = next;
    next = random_.below(next);
    EXPECT_TRUE(node.seal(path).empty());
    next = saved;
  }

  void deliver_one() {
    if (in_flight_.empty()) return;
    const std::size_t which = random_.below(in_flight_.size());
    const Packet packet = in_flight_[which];
    if (random_.below(8) != 0) in_flight_.erase(in_flight_.begin() + static_cast<long>(which));
    deliver(packet, true);
  }

  void deliver(const Packet& packet, bool late) {
    KeyPeer* to = packet.from_client ? holder(packet.path) : &pair_.client;
    if (!to) return;
    const OpenedPacket opened = to->open(packet.bytes, now_, packet.path);
    EXPECT_NE(opened.outcome, Outcome::kError) << static_cast<std::uint64_t>(opened.error);
    // With keys per path, anybody who has the keys of the path can read what is sent now.
    if (!late && pair_.mode == KeyMode::kPerPath) {
      EXPECT_EQ(opened.outcome, Outcome::kOpened);
    }
    if (opened.outcome != Outcome::kOpened) return;
    ++opened_;
    if (packet.acknowledges) {
      to->keys.on_acknowledged(packet.path, *packet.acknowledges, now_);
    }
  }

  void hand_over(PathId path) {
    KeyPeer* const holding = holder(path);
    if (!holding) return;
    KeyPeer& from = *holding;
    const std::optional<PathHandOver> given = from.keys.hand_over(path);
    if (!given) return;
    EXPECT_TRUE(from.seal(path).empty());
    for (std::size_t tries = 0; tries < 4; ++tries) {
      KeyPeer& to = any();
      if (!to.take_over(given)) continue;
      ++handed_over;
      to.largest_received[path.value] = from.largest_received[path.value];
      EXPECT_FALSE(to.keys.take_over(*given));
      EXPECT_FALSE(from.keys.take_over(*given));
      return;
    }
  }

  KeyPair pair_;
  SeededRandom random_;
  KeyPeer backends_[k_nodes - 1];
  std::vector<KeyPeer*> nodes_;
  std::vector<Packet> in_flight_;
  std::set<std::vector<std::uint8_t>> keystreams_;
  std::size_t senders_ = 0;
  std::size_t opened_ = 0;
  Time now_ = k_start;
};

class NonceReuseTest : public testing::TestWithParam<KeyMode> {};

INSTANTIATE_TEST_SUITE_P(KeyModes, NonceReuseTest,
                         testing::Values(KeyMode::kShared, KeyMode::kPerPath),
                         [](const auto& mode) {
                           return mode.param == KeyMode::kShared ? "Shared" : "PerPath";
                         });

TEST_P(NonceReuseTest, NoNodeRepeatsAKeystream) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    NonceWorld(GetParam(), seed).run();
    if (HasFailure()) return;
  }
}

// Tests the measure itself: two senders with one secret do repeat a keystream.
TEST(NonceReuse, WouldBeSeen) {
  KeyPair pair(KeyMode::kPerPath);
  KeyPeer twin;
  twin.keys.set_mode(KeyMode::kPerPath);
  twin.keys.install_send_secret(pair.client_secret);
  EXPECT_EQ(pair.client.seal(), twin.seal());
}

}  // namespace
}  // namespace sheaf::quic
