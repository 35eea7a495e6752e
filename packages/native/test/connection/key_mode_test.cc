#include <gtest/gtest.h>

#include "connection/packet_builder.h"
#include "connection/packet_receiver.h"
#include "connection/raw_peer.h"

namespace sheaf::quic {
namespace {

// 0.5-RTT packets, and packets that wait for the client's Finished, also use this mode.
TEST(KeyMode, HoldsFromTheFirstPacketOn) {
  RawPeer::Options options;
  options.finished_came = false;
  options.multipath = options.per_path_keys = true;
  RawPeer peer(options);
  peer.make_server_talk();
  EXPECT_FALSE(peer.collect().empty());  // and each of them opens
  peer.send({PingFrame{}}, peer.path);
  EXPECT_EQ(peer.server.paths().stats()[0].packets_received, 0u);
  peer.server.establishment().install_receive_secret(known_secret(2), peer.now);
  EXPECT_EQ(peer.server.paths().stats()[0].packets_received, 1u);
}

// A server whose only path another node has taken over.
TEST(KeyMode, APathThatWasHandedOverIsSilentAndItsPacketsAreCounted) {
  for (const KeyMode mode : {KeyMode::kShared, KeyMode::kPerPath}) {
    constexpr Time k_now{std::chrono::seconds(1000)};
    SeededRandom random(1);
    ConnectionParts parts(Role::kServer, {}, random, k_now);
    const ConnectionId id(std::vector<std::uint8_t>(8, 1));
    ConnectionSeed seed;
    seed.local_id = seed.remote_id = id;
    parts.make_first_path(seed, k_now);
    parts.first_entry().remote_ids.set_initial(id);
    parts.keys.set_mode(mode);
    parts.keys.install_send_secret(known_secret(0));
    parts.keys.install_receive_secret(known_secret(0));
    parts.keys.confirm_handshake();
    parts.handshake.establish(), parts.handshake.confirm();
    parts.first_path()->ping_due = true;

    std::vector<std::uint8_t> buffer(65536);
    TransmitBatch batch;
    batch.buffer = buffer;
    PacketBuilder(parts, parts.first_entry(), k_now).build(batch);
    EXPECT_GT(batch.size, 0u);

    ASSERT_TRUE(parts.keys.hand_over(PathId{0}));
    parts.first_path()->ping_due = true;
    batch.size = 0;
    PacketBuilder(parts, parts.first_entry(), k_now).build(batch);
    EXPECT_EQ(batch.size, 0u);
    std::vector<std::uint8_t> packet(60, 0x40);
    std::ranges::copy(id.view(), packet.begin() + 1);
    PacketReceiver(parts, k_now).receive({packet, parts.first_path()->addresses});
    EXPECT_EQ(parts.stats.dropped[static_cast<std::size_t>(DropReason::kNoKeys)], 1u);
  }
}

}  // namespace
}  // namespace sheaf::quic
