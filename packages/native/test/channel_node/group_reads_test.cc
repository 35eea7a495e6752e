#include "channel_node/group_reads.h"

#include <gtest/gtest.h>

namespace sheaf::channel_node {
namespace {

using namespace std::chrono_literals;

// Reads a packet every 100 us, of which the receiver takes a part. Returns how many of the reads
// were followed by a pause.
int pauses_in_reads(GroupReads& reads, int count, int taken_of_eight) {
  static quic::Time now{1s};
  int pauses = 0;
  std::uint64_t taken = 0;
  for (int i = 0; i < count; ++i) {
    if (i % 8 < taken_of_eight) ++taken;
    const quic::Time next = reads.on_read(1, taken, now);
    EXPECT_LE(next, now + 1ms);
    if (next > now) ++pauses;
    now += 100us;
  }
  return pauses;
}

TEST(GroupReads, PauseWhilePacketsThatAreTakenComeOften) {
  GroupReads reads;
  EXPECT_GT(pauses_in_reads(reads, 50, 8), 0);
}

TEST(GroupReads, DoNotPauseForPacketsThatAreRefused) {
  for (const int taken_of_eight : {0, 4, 6}) {
    GroupReads reads;
    EXPECT_EQ(pauses_in_reads(reads, 200, taken_of_eight), 0) << taken_of_eight;
  }
}

// Its receiver has taken fewer packets than the one before.
TEST(GroupReads, GoOnWithTheReceiverOfALaterOffer) {
  GroupReads reads;
  pauses_in_reads(reads, 50, 8);
  EXPECT_GT(pauses_in_reads(reads, 50, 8), 0);
}

}  // namespace
}  // namespace sheaf::channel_node
