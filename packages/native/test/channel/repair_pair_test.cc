#include <gtest/gtest.h>

#include "channel/repair_group.h"
#include "stream/allocation_counter.h"

namespace sheaf::quic {
namespace {

fec::NamedSet numbers(std::initializer_list<std::uint64_t> members) {
  fec::NamedSet set;
  for (const std::uint64_t number : members) EXPECT_TRUE(set.add(number));
  return set;
}

bool loses_first(std::size_t, std::size_t packet) { return packet == 0; }
// Each receiver loses another packet.
bool loses_own(std::size_t receiver, std::size_t packet) { return receiver == packet; }

TEST(RepairPair, OneRepairBringsEachReceiverWhatItLost) {
  RepairGroup group(3);
  group.repairs();
  group.publish(9000, loses_own);
  group.pass(76ms);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_TRUE(group.say(i));
  EXPECT_TRUE(group.repairs().empty()) << "reports of others may follow";
  EXPECT_EQ(group.source.next_timeout(), group.now + 24ms) << "an empty packet comes first";
  group.now += 25ms;
  const auto repairs = group.repairs();
  ASSERT_EQ(repairs.size(), 1u);
  EXPECT_LE(repairs[0].size(), group.source.offer().packet_size);
  for (std::size_t i = 0; i < 3; ++i) {
    group.give(i, repairs[0]);
    const ReceiverCounts& counts = group.receiver(i).counts();
    EXPECT_EQ(counts.recovered, 1u);
    EXPECT_EQ(counts.lost, 1u);
    EXPECT_EQ(group.copies(i), 0u);
    EXPECT_EQ(group.receiver(i).repair_counts().refused, 0u);
  }
  group.pass(1s);
  EXPECT_EQ(group.say(0)->recovered, 1u);
}

TEST(RepairPair, WhatFewMissIsCopied) {
  RepairGroup group(3);
  group.repairs();
  group.publish(
      5000, [](std::size_t receiver, std::size_t packet) { return receiver == 1 && packet == 2; });
  group.pass(76ms);
  EXPECT_TRUE(group.say(1));
  group.now += 25ms;
  EXPECT_TRUE(group.repairs().empty());
  EXPECT_EQ(group.copies(1), 1u);
  EXPECT_EQ(group.copies(0), 0u);
}

TEST(RepairPair, WhatIsMissingForLongIsCopied) {
  RepairGroup group(2);
  group.repairs();
  group.publish(5000, loses_first);
  group.pass(174ms);
  EXPECT_TRUE(group.say(0));
  EXPECT_EQ(group.copies(0), 0u);
  group.pass(1ms);
  EXPECT_TRUE(group.say(1));
  EXPECT_EQ(group.copies(1), 1u);
}

// A report just before the end of that time leaves the packet to repairs, which are planned just
// after it.
TEST(RepairPair, WhatAReportLeftToRepairsIsRepairedThoughItsTimeIsOver) {
  RepairGroup group(2);
  group.repairs();
  group.publish(5000, loses_own);
  group.pass(174ms);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_TRUE(group.say(i));
    EXPECT_EQ(group.copies(i), 0u);
  }
  group.now += 25ms;
  for (const auto& packet : group.repairs()) {
    for (std::size_t i = 0; i < 2; ++i) group.give(i, packet);
  }
  for (std::size_t i = 0; i < 2; ++i) EXPECT_EQ(group.receiver(i).counts().recovered, 1u);
}

// The plan copies what one receiver alone lacks, and a later report of another one changes nothing.
TEST(RepairPair, WhatAReportLeftToRepairsIsCopiedThoughItsTimeIsOver) {
  RepairGroup group(2);
  group.repairs();
  group.publish(5000, loses_own);
  group.pass(174ms);
  EXPECT_TRUE(group.say(0));
  group.pass(2ms);
  EXPECT_TRUE(group.say(1));
  EXPECT_EQ(group.copies(1), 1u);
  EXPECT_EQ(group.copies(0), 0u);
  group.now += 23ms;
  group.repairs();
  EXPECT_EQ(group.copies(0), 1u);
}

TEST(RepairPair, ASecondReportOfTheSamePacketBringsRepairsAtOnce) {
  RepairGroup group(2);
  group.repairs();
  group.publish(5000, [](std::size_t, std::size_t packet) { return packet < 2; });
  group.pass(76ms);
  for (std::size_t i = 0; i < 2; ++i) EXPECT_TRUE(group.say(i));
  EXPECT_LE(group.source.next_timeout(), group.now);
  const auto packets = group.repairs();
  ASSERT_EQ(packets.size(), 3u) << "a status and two rows";
  EXPECT_EQ(group.source.repair_counts().repairs, 2u);
  for (const auto& packet : packets) group.give(0, packet);
  EXPECT_EQ(group.receiver(0).counts().recovered, 2u);
}

TEST(RepairPair, ReceiversDropReportsOfWhatIsUnderRepair) {
  RepairGroup group(2);
  group.repairs();
  const PacketNumber first = group.publish(5000, loses_first);
  RepairForger source(group.source.offer());
  RepairStatus status{.receivers = 2, .sets = {}};
  status.sets.push_back({numbers({first}), 1});
  group.pass(10ms);
  group.give(0, source.status(status));
  group.pass(24ms);
  EXPECT_FALSE(group.say(0));
  EXPECT_TRUE(group.say(1));
  // It waits for a quarter of an interval, and then for its back-off.
  group.pass(34ms);
  const auto report = group.say(0);
  ASSERT_TRUE(report);
  EXPECT_EQ(report->missing.view()[0], (Interval{first, first + 1}));
}

TEST(RepairPair, AStatusHidesNoPacketForLongerThanHalfOfTheDeadline) {
  RepairGroup group(2);
  const PacketNumber first = group.publish(5000, loses_first);
  RepairForger forger(group.source.offer());
  RepairStatus status{.receivers = 1'000'000'000, .sets = {}};
  status.sets.push_back({numbers({first}), 255});
  const Time lost = group.now;
  std::optional<ChannelReport> report;
  while (!report && group.now < lost + 350ms) {
    group.give(0, forger.status(status));
    group.pass(1ms);
    report = group.say(0);
  }
  ASSERT_TRUE(report);
  ASSERT_EQ(report->missing.size(), 1u);
  EXPECT_GE(group.now, lost + 175ms);
  EXPECT_LE(group.now, lost + 275ms) << "and an interval of back-off";
  EXPECT_EQ(group.copies(0), 1u);
}

TEST(RepairPair, AWaitingRepairHidesOnePacketForAWhile) {
  RepairGroup group(2);
  const PacketNumber first =
      group.publish(5000, [](std::size_t, std::size_t packet) { return packet < 2; });
  RepairForger forger(group.source.offer());
  const std::vector<std::uint8_t> bytes(1000, 1);
  group.give(0, forger.repair(numbers({first, first + 1}), 0, bytes));
  group.pass(76ms);
  const auto report = group.say(0);
  ASSERT_TRUE(report);
  ASSERT_EQ(report->missing.size(), 1u);
  EXPECT_EQ(report->missing.view()[0].size(), 1u) << "the repair brings the other";
  group.pass(100ms);
  EXPECT_EQ(group.say(0)->missing.view()[0], (Interval{first, first + 2}));
  EXPECT_EQ(group.copies(0), 2u);
}

TEST(RepairPair, ForgedRepairsAreRefusedAndThenIgnored) {
  RepairGroup group(2);
  const PacketNumber first = group.publish(5000, loses_first);
  RepairForger forger(group.source.offer());
  std::vector<std::uint8_t> bytes(1200, 1);
  store(bytes.data(), std::uint16_t{600});
  std::fill(bytes.begin() + 602, bytes.end(), std::uint8_t{0});
  for (int i = 0; i < 8; ++i) {
    EXPECT_EQ(group.receiver(0).repair_counts().ignored, 0u);
    // With row 0 the coefficient of a single packet is 1 / 128.
    std::vector<std::uint8_t> scaled = bytes;
    for (std::uint8_t& byte : scaled) byte = fec::multiply(byte, fec::inverse(128));
    group.give(0, forger.repair(numbers({first}), 0, scaled));
  }
  EXPECT_EQ(group.receiver(0).repair_counts().refused, 8u);
  EXPECT_EQ(group.receiver(0).counts().recovered, 0u);
  group.give(0, forger.repair(numbers({first}), 0, bytes));
  EXPECT_EQ(group.receiver(0).repair_counts().ignored, 1u);
  // Copies still come, and after a while repairs count again.
  group.receiver(0).receive(group.source.ring().find(first), ChannelWay::kSource, group.now);
  EXPECT_EQ(group.receiver(0).counts().from_unicast, 1u);
  group.pass(10s);
  group.give(0, forger.repair(numbers({first}), 0, bytes));
  EXPECT_EQ(group.receiver(0).repair_counts().ignored, 1u);
}

TEST(RepairPair, TheSameRepairAgainChangesNothing) {
  RepairGroup group(2);
  RepairForger forger(group.source.offer());
  const auto packet = forger.repair(numbers({1}), 0, std::vector<std::uint8_t>(90, 3));
  const std::uint64_t before = group.receiver(0).repair_counts().packets;
  for (int i = 0; i < 3; ++i) group.give(0, packet);
  EXPECT_EQ(group.receiver(0).repair_counts().packets, before + 1);
  auto damaged = packet;
  damaged.back() ^= 1;
  group.give(0, damaged);
  EXPECT_EQ(group.receiver(0).repair_counts().unreadable, 1u);
}

TEST(RepairPair, WithoutAGroupOrWithTrailersThereAreNoRepairs) {
  struct Trailers final : Authenticator {
    AuthenticationOffer offer(Time) override { return {}; }
    std::size_t trailer_length() const override { return 20; }
    void add(std::span<const SealedPacket>, Time) override {}
  } trailers;
  SeededRandom random(3);
  NoAuthenticator none;
  ChannelOffer offer = RepairGroup::offer();
  EXPECT_TRUE(ChannelSource({.offer = offer}, none, random).offer().repairs);
  EXPECT_FALSE(ChannelSource({.offer = offer}, trailers, random).offer().repairs);
  offer.group = {};
  ChannelSource source({.offer = offer}, none, random);
  EXPECT_FALSE(source.offer().repairs);
  EXPECT_EQ(source.packet_size(), offer.packet_size);
}

TEST(RepairPair, PacketsLeaveRoomForTheirRepairs) {
  RepairGroup group(2);
  EXPECT_EQ(group.source.packet_size() + k_repair_overhead, group.source.offer().packet_size);
  fec::NamedSet longest;
  for (std::uint64_t i = 0; i < fec::k_max_set_size; ++i) longest.add(k_max_varint - 200 + i);
  std::vector<std::uint8_t> head(64);
  Writer out(head);
  write_repair_head(out, longest, 0xffff);
  EXPECT_EQ(out.size() + fec::k_symbol_head + k_aead_tag_length, k_repair_overhead);
}

// The rate of the channel includes its repairs, which have a quarter of it.
TEST(RepairPair, RepairsKeepTheirRate) {
  RepairGroup group(2);
  const auto all = [](std::size_t, std::size_t packet) { return packet % 2 == 0; };
  std::uint64_t bytes = 0;
  const Time start = group.now;
  while (group.now < start + 2s) {
    group.publish(30'000, all);
    group.pass(76ms);
    for (std::size_t i = 0; i < 2; ++i) group.say(i);
    for (const auto& packet : group.repairs()) bytes += packet.size();
  }
  EXPECT_GT(bytes, 100'000u);
  EXPECT_LE(bytes, 2u * group.source.offer().max_rate / 4 + 17 * 1350);
}

// The group reaches two receivers of a channel that has slowed down, and then no more.
TEST(RepairPair, RepairsFollowThePresentRate) {
  constexpr std::uint64_t present = 100'000;
  SourceConfig config{.offer = RepairGroup::offer(), .slowest_rate = present};
  config.offer.deadline = 2s;
  RepairGroup group(2, config);
  std::uint64_t bytes = 0;
  const auto run_for = [&](Duration time, bool loses) {
    const Time end = group.now + time;
    for (std::size_t i = 0; group.now < end; ++i) {
      group.publish(1000, [&](std::size_t, std::size_t) { return loses && i % 5 != 0; });
      group.pass(20ms);
      for (std::size_t each = 0; each < 2; ++each) group.say(each);
      for (const auto& packet : group.repairs()) bytes += packet.size();
    }
  };
  run_for(6s, false);
  // The worst of them keeps the channel at its slowest rate.
  for (int i = 0; i < 100 && group.source.counts().rate > present; ++i) run_for(20ms, true);
  bytes = 0;
  run_for(2s, true);
  EXPECT_EQ(group.source.counts().rate, present);
  EXPECT_GT(bytes, 2 * present / 5);
  EXPECT_LE(bytes, 2 * present / 4 + 17 * config.offer.packet_size);
}

TEST(RepairPair, MakingRepairsAllocatesNothing) {
  RepairGroup group(2);
  std::size_t made = 0;
  std::size_t allocated = 0;
  for (int turn = 0; turn < 40; ++turn) {
    group.publish(5000, loses_first);
    group.pass(110ms);
    for (std::size_t i = 0; i < 2; ++i) group.say(i);
    const std::size_t before = allocation_count();
    for (Bytes packet; !(packet = group.source.poll_repair(group.now)).empty();) ++made;
    if (turn >= 20) allocated += allocation_count() - before;
  }
  EXPECT_GE(made, 40u);
  EXPECT_EQ(allocated, 0u);
}

}  // namespace
}  // namespace sheaf::quic
