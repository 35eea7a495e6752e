// Tests that packets with a datagram each (RFC 9221) leave together, as segmentation offload wants
// them.
#include <gtest/gtest.h>

#include "connection/raw_peer.h"

namespace sheaf::quic {
namespace {

struct Batches {
  std::vector<std::size_t> segments;
  std::vector<std::size_t> last_sizes;
};

// Returns what a server makes of datagrams of these sizes.
Batches batches_of(const std::vector<std::size_t>& sizes) {
  RawPeer peer;
  peer.collect();
  for (const std::size_t size : sizes) {
    EXPECT_TRUE(peer.server.datagrams().send(std::vector<std::uint8_t>(size), 0));
  }
  Batches batches;
  std::vector<std::uint8_t> buffer(65536);
  for (;;) {
    TransmitBatch batch;
    batch.buffer = buffer;
    peer.server.poll_transmit(batch, peer.now);
    if (batch.size == 0) return batches;
    batches.segments.push_back(batch.segments());
    batches.last_sizes.push_back(batch.size - (batch.segments() - 1) * batch.segment_size);
  }
}

TEST(DatagramBatches, DatagramsOfOneLengthLeaveTogether) {
  EXPECT_EQ(batches_of(std::vector<std::size_t>(8, 900)).segments, (std::vector<std::size_t>{8}));
}

TEST(DatagramBatches, AShorterOneIsTheLastOfItsBatch) {
  const Batches batches = batches_of({900, 900, 900, 700, 900});
  EXPECT_EQ(batches.segments, (std::vector<std::size_t>{4, 1}));
  EXPECT_LT(batches.last_sizes[0], batches.last_sizes[1]);
}

TEST(DatagramBatches, ALongerOneBeginsABatch) {
  EXPECT_EQ(batches_of({700, 700, 900, 900}).segments, (std::vector<std::size_t>{2, 2}));
}

// Fewer packets are worth more than fewer batches.
TEST(DatagramBatches, WhatFitsTogetherSharesAPacket) {
  EXPECT_EQ(batches_of({800, 500, 500}).segments, (std::vector<std::size_t>{1, 1}));
}

}  // namespace
}  // namespace sheaf::quic
