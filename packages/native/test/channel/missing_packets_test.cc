#include "channel/missing_packets.h"

#include <gtest/gtest.h>

#include <set>

#include "util/random.h"

namespace sheaf::quic {
namespace {

constexpr Time k_missing_start{1s};

// Whether a packet has come that is in a gap: none is, unless there are very many gaps.
constexpr auto has_none = [](PacketNumber) { return false; };

std::vector<Interval> listed(const MissingPackets& missing) {
  ChannelReport report;
  missing.list(report, [](PacketNumber, Time) { return false; });
  return {report.missing.view().begin(), report.missing.view().end()};
}

TEST(MissingPackets, BeginsWithTheFirstPacket) {
  MissingPackets missing;
  EXPECT_EQ(missing.on_packet(1000, k_missing_start, has_none), 0u);
  EXPECT_EQ(missing.on_packet(998, k_missing_start, has_none), 0u);
  EXPECT_TRUE(missing.empty());
  EXPECT_EQ(missing.end(), 1001u);
}

TEST(MissingPackets, FindsSplitsAndClosesGaps) {
  MissingPackets missing;
  missing.on_packet(0, k_missing_start, has_none);
  EXPECT_EQ(missing.on_packet(10, k_missing_start + 1ms, has_none), 9u);
  missing.on_packet(5, k_missing_start + 2ms, has_none);
  EXPECT_EQ(listed(missing), (std::vector<Interval>{{6, 10}, {1, 5}}));
  missing.on_packet(1, k_missing_start, has_none);
  missing.on_packet(4, k_missing_start, has_none);
  missing.on_packet(6, k_missing_start, has_none);
  EXPECT_EQ(listed(missing), (std::vector<Interval>{{7, 10}, {2, 4}}));
  EXPECT_FALSE(missing.contains(1));
  EXPECT_TRUE(missing.contains(3));
  EXPECT_EQ(missing.oldest(), k_missing_start + 1ms);
  EXPECT_EQ(missing.expire(k_missing_start), 0u);
  EXPECT_EQ(missing.expire(k_missing_start + 1ms), 5u);
  EXPECT_EQ(missing.oldest(), k_never);
}

TEST(MissingPackets, NeighboursBecomeOneGapWhenThereAreTooMany) {
  MissingPackets missing;
  std::set<PacketNumber> came;
  const auto has = [&](PacketNumber number) { return came.contains(number); };
  const auto take = [&](PacketNumber number) {
    came.insert(number);
    missing.on_packet(number, k_missing_start, has);
  };
  for (PacketNumber number = 0; number <= 2 * 300; number += 2) take(number);
  EXPECT_EQ(missing.gaps().size(), 256u);
  // What came stays in a gap, and so does what comes amid one, until it is at an edge.
  EXPECT_EQ(missing.gaps().front().range, (Interval{1, 90}));
  take(45);
  EXPECT_TRUE(missing.contains(45));
  EXPECT_EQ(listed(missing).front(), (Interval{599, 600}));
  take(89);
  EXPECT_EQ(missing.gaps().front().range, (Interval{1, 88}));
  for (PacketNumber number = 3; number < 2 * 300; number += 2) {
    if (number != 45) take(number);
  }
  EXPECT_EQ(missing.gaps().size(), 1u);
  EXPECT_EQ(missing.lowest(), 1u);
  EXPECT_EQ(missing.count(), 1u);
  take(1);
  EXPECT_TRUE(missing.empty());
}

TEST(MissingPackets, NothingExpiresBeforeItsTimeHoweverMuchIsMissing) {
  MissingPackets missing;
  for (PacketNumber number = 0; number <= 20'000; number += 2) {
    missing.on_packet(number, k_missing_start, has_none);
  }
  EXPECT_EQ(missing.expire(k_missing_start - 1ms), 0u);
  for (PacketNumber number = 1; number < 20'000; number += 2) ASSERT_TRUE(missing.contains(number));
}

TEST(MissingPackets, AgreesWithASet) {
  constexpr std::uint64_t k_seed = 11;
  SCOPED_TRACE("seed " + std::to_string(k_seed));
  SeededRandom random(k_seed);
  MissingPackets missing;
  std::set<PacketNumber> expected;
  missing.on_packet(0, k_missing_start, has_none);
  for (int round = 0; round < 5000; ++round) {
    const PacketNumber number =
        missing.end() + random.below(4) - std::min<PacketNumber>(missing.end(), random.below(40));
    for (PacketNumber skipped = missing.end(); skipped < number; ++skipped) {
      expected.insert(skipped);
    }
    expected.erase(number);
    missing.on_packet(number, k_missing_start, has_none);
    ASSERT_EQ(missing.contains(number), false);
  }
  ASSERT_EQ(missing.expire(k_missing_start), expected.size());
}

}  // namespace
}  // namespace sheaf::quic
