// Tests that a connection tells of datagrams (RFC 9221) whose application read too slowly.
#include <gtest/gtest.h>

#include "connection/raw_peer.h"
#include "util/datagram_ring.h"

namespace sheaf::quic {
namespace {

TEST(UnreadDatagrams, TheOldestLeaveAndAreCounted) {
  const std::vector<std::uint8_t> payload(500);
  RawPeer::Options options;
  options.config.max_datagram_frame_size = 1200;
  options.config.datagram_queue_limit = 3 * (payload.size() + DatagramRing::k_overhead);
  RawPeer peer(options);
  const auto unread = [&] { return peer.server.stats().dropped_for(DropReason::kUnread); };
  const auto send = [&](std::uint8_t first) {
    std::vector<std::uint8_t> named = payload;
    named[0] = first;
    peer.send({DatagramFrame{named}}, peer.path);
  };
  for (std::uint8_t i = 0; i < 3; ++i) send(i);
  EXPECT_EQ(unread(), 0u);
  for (std::uint8_t i = 3; i < 5; ++i) send(i);
  EXPECT_EQ(unread(), 2u);
  EXPECT_EQ(peer.server.stats().datagrams_received, 5u);
  EXPECT_EQ(peer.server.stats().dropped_for(DropReason::kQueueFull), 0u);
  const auto next = peer.server.datagrams().receive();
  ASSERT_TRUE(next);
  EXPECT_EQ(next->payload[0], 2);
}

TEST(UnreadDatagrams, KeepTheMarksOfTheirPackets) {
  RawPeer::Options options;
  options.config.max_datagram_frame_size = 1200;
  RawPeer peer(options);
  const std::vector<std::uint8_t> payload(100);
  const std::array marks{Ecn::kCe, Ecn::kNotEct, Ecn::kEct0};
  for (const Ecn ecn : marks) {
    peer.ecn = ecn;
    peer.send({DatagramFrame{payload}, DatagramFrame{payload}}, peer.path);
  }
  for (const Ecn ecn : marks) {
    for (int frame = 0; frame < 2; ++frame) {
      const auto datagram = peer.server.datagrams().receive();
      ASSERT_TRUE(datagram);
      EXPECT_EQ(datagram->ecn, ecn);
    }
  }
}

}  // namespace
}  // namespace sheaf::quic
