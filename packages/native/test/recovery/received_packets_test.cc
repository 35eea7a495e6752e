#include "recovery/received_packets.h"

#include <gtest/gtest.h>

#include <array>
#include <set>
#include <vector>

#include "recovery/times.h"
#include "util/random.h"

namespace sheaf::quic {
namespace {

void receive(ReceivedPackets& received, PacketNumber number, Time now = at_ms(0),
             Ecn ecn = Ecn::kNotEct) {
  received.on_received(number, ecn, true, now, k_max_ack_delay);
}

struct WrittenAck {
  AckFrame frame;
  std::vector<AckRange> ranges;
};

std::optional<WrittenAck> write_ack(ReceivedPackets& received, Time now = at_ms(0),
                                    std::size_t room = 1200) {
  std::array<std::uint8_t, 1200> buffer;
  Writer writer(MutableBytes(buffer).first(room));
  if (!received.write_ack(writer, 3, now)) return std::nullopt;
  Reader reader(writer.written());
  const auto frame = decode_frame(reader, PacketType::kOneRtt);
  EXPECT_TRUE(frame);
  if (!frame) return std::nullopt;
  WrittenAck written{.frame = std::get<AckFrame>(*frame), .ranges = {}};
  AckRangeReader ranges(written.frame);
  for (AckRange range; ranges.next(range.first, range.last);) written.ranges.push_back(range);
  written.frame.ranges = {};
  return written;
}

TEST(ReceivedPackets, NothingToSayAtFirst) {
  ReceivedPackets received;
  EXPECT_FALSE(received.largest());
  EXPECT_FALSE(received.is_duplicate(0));
  EXPECT_FALSE(received.ack_pending());
  EXPECT_EQ(received.ack_deadline(), k_never);
  EXPECT_FALSE(write_ack(received));
}

TEST(ReceivedPackets, AcknowledgesEverySecondPacketAtOnceAndTheFirstInTime) {
  ReceivedPackets received;
  receive(received, 0, at_ms(10));
  EXPECT_EQ(received.ack_deadline(), at_ms(35));
  receive(received, 1, at_ms(12));
  EXPECT_EQ(received.ack_deadline(), at_ms(12));
  ASSERT_TRUE(write_ack(received, at_ms(12)));
  EXPECT_EQ(received.ack_deadline(), k_never);
  EXPECT_FALSE(received.ack_pending());
  receive(received, 2, at_ms(20));
  EXPECT_EQ(received.ack_deadline(), at_ms(45));
}

TEST(ReceivedPackets, PacketsThatElicitNothingOnlyRideAlong) {
  ReceivedPackets received;
  for (PacketNumber number = 0; number < 10; ++number) {
    received.on_received(number, Ecn::kNotEct, false, at_ms(1), k_max_ack_delay);
  }
  EXPECT_EQ(received.ack_deadline(), k_never);
  EXPECT_TRUE(received.ack_pending());
  EXPECT_EQ(write_ack(received)->frame.largest, 9u);
}

TEST(ReceivedPackets, ReportsGapsReorderingAndCongestionAtOnce) {
  ReceivedPackets received;
  receive(received, 0, at_ms(1));
  write_ack(received);
  receive(received, 2, at_ms(5));  // gap
  EXPECT_EQ(received.ack_deadline(), at_ms(5));
  write_ack(received);
  receive(received, 1, at_ms(7));  // out of order
  EXPECT_EQ(received.ack_deadline(), at_ms(7));
  write_ack(received);
  receive(received, 3, at_ms(9), Ecn::kCe);
  EXPECT_EQ(received.ack_deadline(), at_ms(9));
}

// --- draft-ietf-quic-ack-frequency-11 -----------------------------------------------------------

TEST(AckFrequency, SetsPacketsAndDelay) {
  ReceivedPackets received;
  received.set_frequency({.threshold = 3, .max_ack_delay = 5ms});
  for (PacketNumber number = 0; number < 3; ++number) receive(received, number, at_ms(10));
  EXPECT_EQ(received.ack_deadline(), at_ms(15));
  receive(received, 3, at_ms(11));
  EXPECT_EQ(received.ack_deadline(), at_ms(11));
}

TEST(AckFrequency, AThresholdOfZeroAcknowledgesEachPacket) {
  ReceivedPackets received;
  received.set_frequency({.threshold = 0, .max_ack_delay = 5ms});
  receive(received, 0, at_ms(10));
  EXPECT_EQ(received.ack_deadline(), at_ms(10));
}

TEST(AckFrequency, BoundsWhatAHostilePeerAsksFor) {
  ReceivedPackets received;
  received.set_frequency({.threshold = UINT32_MAX,
                          .reordering_threshold = UINT32_MAX,
                          .max_ack_delay = std::chrono::hours(1)});
  receive(received, 0, at_ms(0));
  EXPECT_EQ(received.ack_deadline(), at_ms(1000));
  for (PacketNumber number = 1; number <= 256; ++number) receive(received, number, at_ms(1));
  EXPECT_EQ(received.ack_deadline(), at_ms(1));
}

TEST(AckFrequency, ObeysADemandAtOnce) {
  ReceivedPackets received;
  received.set_frequency({.threshold = 30, .max_ack_delay = 20ms});
  receive(received, 0, at_ms(10));
  received.acknowledge_at_once(at_ms(10));
  EXPECT_EQ(received.ack_deadline(), at_ms(10));
}

// Receives packets one by one, and returns those that were acknowledged at once.
std::vector<PacketNumber> acknowledged_at_once(std::uint32_t reordering_threshold,
                                               const std::vector<PacketNumber>& numbers) {
  ReceivedPackets received;
  received.set_frequency(
      {.threshold = 100, .reordering_threshold = reordering_threshold, .max_ack_delay = 20ms});
  std::vector<PacketNumber> out;
  for (const PacketNumber number : numbers) {
    receive(received, number, at_ms(5));
    if (received.ack_deadline() > at_ms(5)) continue;
    out.push_back(number);
    EXPECT_TRUE(write_ack(received, at_ms(5)));
  }
  return out;
}

using Numbers = std::vector<PacketNumber>;

// The examples of §6.2.1.
TEST(AckFrequency, TellsOfAGapWhenALossCanBeDeclared) {
  EXPECT_EQ(acknowledged_at_once(1, {0, 1, 3, 4}), (Numbers{3}));
  EXPECT_EQ(acknowledged_at_once(3, {0, 1, 3, 4, 5, 8, 9, 10}), (Numbers{5, 9, 10}));
  EXPECT_EQ(acknowledged_at_once(5, {0, 1, 3, 5, 6, 7, 8, 9}), (Numbers{7, 9}));
}

TEST(AckFrequency, OrderMayBeIgnored) {
  EXPECT_EQ(acknowledged_at_once(0, {0, 5, 3, 20, 1, 40}), Numbers{});
}

TEST(AckFrequency, TellsOfAPacketThatCountsAsLost) {
  EXPECT_EQ(acknowledged_at_once(3, {0, 1, 3, 4, 5, 2, 6}), (Numbers{5, 2}));
  // It still is within the window.
  EXPECT_EQ(acknowledged_at_once(3, {0, 1, 3, 4, 2, 5, 6}), Numbers{});
}

// Of several marks in a row only the first is urgent (§6.3).
TEST(AckFrequency, TellsOfTheFirstMark) {
  ReceivedPackets received;
  received.set_frequency({.threshold = 30, .max_ack_delay = 20ms});
  receive(received, 0, at_ms(0), Ecn::kCe);
  EXPECT_EQ(received.ack_deadline(), at_ms(0));
  ASSERT_TRUE(write_ack(received));
  receive(received, 1, at_ms(0), Ecn::kCe);
  EXPECT_EQ(received.ack_deadline(), at_ms(20));
  receive(received, 2, at_ms(0), Ecn::kEct0);
  receive(received, 3, at_ms(0), Ecn::kCe);
  EXPECT_EQ(received.ack_deadline(), at_ms(0));
}

// Ranges that were never reported must not be dropped: their packets would count as duplicates.
TEST(AckFrequency, ReportsRangesBeforeTheyAreTooMany) {
  ReceivedPackets received;
  received.set_frequency(
      {.threshold = 250, .reordering_threshold = 0, .max_ack_delay = std::chrono::seconds(1)});
  std::set<PacketNumber> reported;
  for (PacketNumber number = 0; number < 400; number += 2) {
    receive(received, number);
    if (received.ack_deadline() > at_ms(0)) continue;
    const auto written = write_ack(received);
    ASSERT_TRUE(written);
    for (const AckRange& range : written->ranges) {
      for (PacketNumber n = range.first; n <= range.last; ++n) reported.insert(n);
    }
  }
  for (PacketNumber number = 0; number < 380; number += 2) EXPECT_TRUE(reported.contains(number));
}

// --- what an ACK says ---------------------------------------------------------------------------

TEST(ReceivedPackets, WritesDelayAndEcnCounts) {
  ReceivedPackets received;
  receive(received, 0, at_ms(10));
  EXPECT_FALSE(write_ack(received)->frame.ecn);
  receive(received, 1, at_ms(20), Ecn::kEct0);
  receive(received, 2, at_ms(20), Ecn::kCe);
  receive(received, 2, at_ms(20), Ecn::kCe);  // a duplicate is not counted
  const auto written = write_ack(received, at_ms(28));
  EXPECT_EQ(written->frame.delay, 8000u >> 3);
  EXPECT_EQ(written->frame.ecn, (EcnCounts{.ect0 = 1, .ect1 = 0, .ce = 1}));
}

TEST(ReceivedPackets, StaysOwedWhenThereIsNoRoom) {
  ReceivedPackets received;
  receive(received, 0, at_ms(1));
  receive(received, 1, at_ms(1));
  EXPECT_FALSE(write_ack(received, at_ms(1), 2));
  EXPECT_TRUE(received.ack_pending());
  EXPECT_EQ(received.ack_deadline(), at_ms(1));
}

TEST(ReceivedPackets, StopsRepeatingRangesThePeerKnows) {
  ReceivedPackets received;
  for (PacketNumber number : {0, 2, 4, 6}) receive(received, number);
  EXPECT_EQ(write_ack(received)->ranges.size(), 4u);
  received.on_ack_acknowledged(4);
  EXPECT_EQ(write_ack(received)->ranges.size(), 1u);
  EXPECT_TRUE(received.is_duplicate(2));
  EXPECT_FALSE(received.is_duplicate(1));
  receive(received, 3);  // late, so its range is news again
  const auto written = write_ack(received);
  ASSERT_EQ(written->ranges.size(), 2u);
  EXPECT_EQ(written->ranges[1].first, 2u);
  EXPECT_EQ(written->ranges[1].last, 4u);
}

TEST(ReceivedPackets, ForgetsTheOldestBeyondSixtyFourRanges) {
  ReceivedPackets received;
  for (PacketNumber number = 0; number < 1000; ++number) receive(received, 2 * number + 10);
  EXPECT_EQ(write_ack(received)->ranges.size(), ReceivedPackets::k_max_ranges);
  // Below the kept ranges, new and repeated packets can no longer be told apart.
  EXPECT_TRUE(received.is_duplicate(0));
  EXPECT_TRUE(received.is_duplicate(11));
  EXPECT_FALSE(received.is_duplicate(2007));
  EXPECT_TRUE(received.is_duplicate(2008));
  EXPECT_FALSE(received.is_duplicate(2009));
}

TEST(ReceivedPackets, AnOldPacketWhenFullIsNotAcceptedTwice) {
  ReceivedPackets received;
  for (PacketNumber number = 0; number < 64; ++number) receive(received, 2 * number + 100);
  receive(received, 50);
  EXPECT_TRUE(received.is_duplicate(50));
  receive(received, 151);  // joins two ranges
  EXPECT_TRUE(received.is_duplicate(151));
}

// Compares with a set of numbers, under loss, reordering and duplication.
TEST(ReceivedPackets, BehavesLikeASetOfNumbers) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    SeededRandom random(seed);
    ReceivedPackets received;
    std::set<PacketNumber> model;
    PacketNumber next = 0;
    for (int step = 0; step < 3000; ++step) {
      next += random.below(10) == 0 ? 2 : 1;
      const PacketNumber number =
          random.below(4) == 0 ? next - random.below(std::min<std::uint64_t>(next, 40)) : next;
      // A number that was accepted once is never accepted again.
      if (model.contains(number)) {
        ASSERT_TRUE(received.is_duplicate(number)) << number;
      }
      if (!received.is_duplicate(number)) model.insert(number);
      receive(received, number);
      ASSERT_TRUE(received.is_duplicate(number));
      if (random.below(3) == 0) {
        const auto written = write_ack(received);
        ASSERT_TRUE(written);
        ASSERT_EQ(written->frame.largest, *model.rbegin());
        PacketNumber above = UINT64_MAX;
        for (const AckRange& range : written->ranges) {
          ASSERT_LE(range.first, range.last);
          ASSERT_LT(range.last, above - 1);  // disjoint, not adjacent, downwards
          for (PacketNumber reported = range.first; reported <= range.last; ++reported) {
            ASSERT_TRUE(model.contains(reported)) << reported;
          }
          above = range.first;
        }
        if (random.below(2) == 0) received.on_ack_acknowledged(written->frame.largest);
      }
    }
  }
}

}  // namespace
}  // namespace sheaf::quic
