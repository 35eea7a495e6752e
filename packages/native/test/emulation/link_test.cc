#include "emulation/link.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "emulation/link_fixture.h"

namespace sheaf::quic {
namespace {

TEST(Link, DelaysAndKeepsTheOrder) {
  Link link({.delay = 30ms}, 1);
  for (std::uint32_t i = 0; i < 10; ++i) send(link, i, at_ms(i));
  const auto arrived = drain(link);
  ASSERT_EQ(arrived.size(), 10u);
  for (std::uint32_t i = 0; i < 10; ++i) {
    EXPECT_EQ(arrived[i].number, i);
    EXPECT_EQ(arrived[i].when, at_ms(30 + i));
  }
}

TEST(Link, TransmitsAtItsRate) {
  Link link({.rate = 8_mbps, .delay = 5ms}, 1);  // 1,000 bytes take 1 ms
  for (std::uint32_t i = 0; i < 5; ++i) send(link, i, at_ms(0));
  const auto arrived = drain(link);
  ASSERT_EQ(arrived.size(), 5u);
  for (std::uint32_t i = 0; i < 5; ++i) EXPECT_EQ(arrived[i].when, at_ms(6 + i));
}

TEST(Link, DropsTheTailOfAFullQueue) {
  Link link({.queue_bytes = 3000, .rate = 8_mbps}, 1);
  for (std::uint32_t i = 0; i < 10; ++i) send(link, i, at_ms(0));
  EXPECT_EQ(link.stats().queue_full, 6u);  // one is transmitted, three wait
  expect_conservation(link);
  EXPECT_EQ(drain(link).size(), 4u);
  expect_conservation(link);
}

TEST(Link, LimitsTheQueueInPackets) {
  Link link({.queue_packets = 3, .rate = 8_mbps}, 1);
  for (std::uint32_t i = 0; i < 10; ++i) send(link, i, at_ms(0), 10);
  EXPECT_EQ(link.stats().queue_full, 6u);
  EXPECT_EQ(drain(link).size(), 4u);
  expect_conservation(link);
}

TEST(Link, DropsWhatIsLargerThanItsMtu) {
  Link link({.mtu = 1300}, 1);
  send(link, 0, at_ms(0), 1300);
  send(link, 1, at_ms(0), 1301);
  EXPECT_EQ(drain(link).size(), 1u);
  EXPECT_EQ(link.stats().too_large, 1u);
}

TEST(Link, MarksOnlyEcnCapableDatagramsInALongQueue) {
  Link link({.mark_bytes = 2000, .rate = 8_mbps}, 1);
  for (std::uint32_t i = 0; i < 8; ++i) {
    send(link, i, at_ms(0), 1000, i % 2 == 0 ? Ecn::kEct0 : Ecn::kNotEct);
  }
  const auto arrived = drain(link);
  ASSERT_EQ(arrived.size(), 8u);
  EXPECT_EQ(arrived[2].ecn, Ecn::kEct0);
  EXPECT_EQ(arrived[4].ecn, Ecn::kCe);
  EXPECT_EQ(arrived[5].ecn, Ecn::kNotEct);
  EXPECT_EQ(link.stats().marked, 2u);
}

TEST(Link, LosesAsOftenAsAsked) {
  constexpr std::uint64_t k_seed = 42;
  SCOPED_TRACE("seed " + std::to_string(k_seed));
  Link link({.loss = 0.3}, k_seed);
  for (std::uint32_t i = 0; i < 20'000; ++i) send(link, i, at_us(i), 10);
  drain(link);
  EXPECT_NEAR(static_cast<double>(link.stats().lost), 6000, 300);
  expect_conservation(link);
}

TEST(Link, JitterKeepsTheOrderAndReorderingDoesNot) {
  constexpr std::uint64_t k_seed = 43;
  SCOPED_TRACE("seed " + std::to_string(k_seed));
  const auto by_number = [](const Arrived& a, const Arrived& b) { return a.number < b.number; };
  Link jittery({.delay = 10ms, .jitter = 20ms}, k_seed);
  Link reordering({.delay = 10ms, .reordering = 0.1, .reordering_delay = 5ms}, k_seed);
  for (std::uint32_t i = 0; i < 1000; ++i) {
    send(jittery, i, at_ms(i));
    send(reordering, i, at_ms(i));
  }
  const auto ordered = drain(jittery);
  EXPECT_EQ(ordered.size(), 1000u);
  EXPECT_TRUE(std::is_sorted(ordered.begin(), ordered.end(), by_number));
  for (const Arrived& one : ordered) {
    EXPECT_GE(one.when, at_ms(one.number + 10));
    EXPECT_LE(one.when, at_ms(one.number + 30));
  }
  const auto mixed = drain(reordering);
  EXPECT_EQ(mixed.size(), 1000u);
  EXPECT_FALSE(std::is_sorted(mixed.begin(), mixed.end(), by_number));
}

TEST(Link, ChangesAtTheGivenTime) {
  Link link({.rate = 8_mbps}, 1);
  link.change_at(at_us(2500), {.rate = 4_mbps});
  link.change_at(at_ms(100), {.loss = 1});
  for (std::uint32_t i = 0; i < 5; ++i) send(link, i, at_ms(0));
  const auto arrived = drain(link);
  ASSERT_EQ(arrived.size(), 5u);
  EXPECT_EQ(arrived[2].when, at_ms(3));  // began before the change
  EXPECT_EQ(arrived[3].when, at_ms(5));
  EXPECT_EQ(arrived[4].when, at_ms(7));
  send(link, 5, at_ms(100));
  EXPECT_TRUE(drain(link).empty());
}

TEST(Link, LosesWhatWaitsWhenItGoesDown) {
  const LinkConfig up{.rate = 8_mbps, .delay = 10ms};
  LinkConfig down = up;
  down.down = true;
  Link link(up, 1);
  for (std::uint32_t i = 0; i < 5; ++i) send(link, i, at_ms(0));
  link.change(down, at_us(2500));  // two are propagated, one is transmitted, two wait
  send(link, 5, at_ms(3));
  const auto arrived = drain(link);
  ASSERT_EQ(arrived.size(), 2u);
  EXPECT_EQ(arrived[1].when, at_ms(12));
  EXPECT_EQ(link.stats().down, 4u);
  expect_conservation(link);
  link.change(up, at_ms(20));
  send(link, 6, at_ms(20));
  EXPECT_EQ(drain(link).size(), 1u);
}

TEST(Link, ChangesOfTheQueueKeepWhatWaits) {
  Link link({.rate = 8_mbps}, 1);
  for (std::uint32_t i = 0; i < 5; ++i) send(link, i, at_ms(0));
  link.change({.queue_discipline = QueueDisciplineKind::kCoDel, .rate = 8_mbps}, at_us(500));
  EXPECT_EQ(drain(link).size(), 5u);
}

TEST(Link, CorrelatedJitterComesInPlateaus) {
  constexpr std::uint64_t k_seed = 44;
  SCOPED_TRACE("seed " + std::to_string(k_seed));
  constexpr std::uint32_t k_count = 20'000;
  const auto changes_and_mean = [](double correlation) {
    // The datagrams are so far apart that their order cannot change.
    Link link({.delay = 10ms, .jitter = 20ms, .jitter_correlation = correlation}, k_seed);
    std::vector<Arrived> arrived;
    for (std::uint32_t i = 0; i < k_count; ++i) send(link, i, at_ms(50 * i), 4);
    arrived = drain(link);
    int changes = 0;
    double sum = 0;
    Duration previous{};
    for (const Arrived& one : arrived) {
      const Duration jitter = one.when - at_ms(50 * one.number + 10);
      EXPECT_LE(jitter, 20ms);
      changes += jitter != previous;
      previous = jitter;
      sum += std::chrono::duration<double, std::milli>(jitter).count();
    }
    return std::pair(changes, sum / k_count);
  };
  const auto [independent, independent_mean] = changes_and_mean(0);
  EXPECT_GT(independent, k_count - 10);
  EXPECT_NEAR(independent_mean, 10, 0.2);
  const auto [correlated, correlated_mean] = changes_and_mean(0.9);
  EXPECT_NEAR(correlated, k_count / 10, k_count / 100);
  EXPECT_NEAR(correlated_mean, 10, 0.6);
}

// As in netem (get_crandom): with a correlation of one half, a draw is the mean of a new number and
// the previous draw, which is below 1.5 % only when both are small. This is only possible for the
// first draws.
TEST(Link, AveragedDrawsHardlyEverLose) {
  const auto lost = [](CorrelationKind kind) {
    Link link({.loss = 0.015, .loss_correlation = 0.5, .correlation_kind = kind}, 7);
    for (std::uint32_t i = 0; i < 200'000; ++i) {
      send(link, i, at_us(i), 4);
      while (link.poll_arrival(at_us(i)) != nullptr) {
      }
    }
    return link.stats().lost;
  };
  EXPECT_NEAR(static_cast<double>(lost(CorrelationKind::kRepeats)), 3000, 300);
  EXPECT_LE(lost(CorrelationKind::kAverages), 1);
}

TEST(Link, CopiesOfADatagramShareItsBytes) {
  Link first({}, 7);
  Link second({.delay = 1ms}, 8);
  send(first, 1, at_ms(0), 100);
  LinkDatagram* arrived = first.poll_arrival(at_ms(0));
  ASSERT_NE(arrived, nullptr);
  const std::uint8_t* const bytes = arrived->payload().data();
  EXPECT_FALSE(arrived->is_shared());
  second.send(*arrived, arrived->header, at_ms(0));
  EXPECT_TRUE(arrived->is_shared());
  // The link that gave the datagram away writes the next one to another place.
  EXPECT_EQ(first.poll_arrival(at_ms(0)), nullptr);
  send(first, 2, at_ms(0), 100);
  const LinkDatagram* copy = second.poll_arrival(at_ms(1));
  ASSERT_NE(copy, nullptr);
  EXPECT_EQ(copy->payload().data(), bytes);
  EXPECT_EQ(copy->payload()[0], 1);
  EXPECT_FALSE(copy->is_shared());
  expect_conservation(second);
}

TEST(Link, JitterReordersWhereItIsAllowedTo) {
  const auto overtakes = [](bool jitter_reorders) {
    Link link({.delay = 10ms, .jitter = 4ms, .jitter_reorders = jitter_reorders}, 7);
    for (std::uint32_t i = 0; i < 1000; ++i) send(link, i, at_us(100 * i), 4);
    const std::vector<Arrived> arrived = drain(link);
    EXPECT_EQ(arrived.size(), 1000);
    int count = 0;
    for (std::size_t i = 1; i < arrived.size(); ++i) {
      count += arrived[i].number < arrived[i - 1].number;
    }
    return count;
  };
  EXPECT_EQ(overtakes(false), 0);
  EXPECT_GT(overtakes(true), 100);
}

TEST(Link, DuplicatesAsOftenAsAsked) {
  Link link({.duplication = 0.25}, 45);
  for (std::uint32_t i = 0; i < 20'000; ++i) send(link, i, at_us(i), 10);
  const auto arrived = drain(link);
  EXPECT_NEAR(static_cast<double>(arrived.size()), 25'000, 300);
  EXPECT_EQ(link.stats().duplicated + 20'000, arrived.size());
}

// For any parameters and any use: every datagram is delivered, dropped or in flight, every
// delivered datagram was sent, and the rate is kept.
TEST(Link, ConservesDatagrams) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    SeededRandom random(seed);
    const auto trace = std::make_shared<const CapacityTrace>(*CapacityTrace::parse("0\n3\n3\n9\n"));
    const auto draw = [&] {
      return LinkConfig{.down = random.below(8) == 0,
                        .mtu = 200 + random.below(1500),
                        .queue_bytes = random.below(20'000),
                        .queue_packets = random.below(30),
                        .queue_discipline = random.below(2) == 0 ? QueueDisciplineKind::kCoDel
                                                                 : QueueDisciplineKind::kDropTail,
                        .mark_bytes = random.below(10'000),
                        .rate = random.below(2) == 0 ? 0 : 1 + random.below(1'000'000),
                        .trace = random.below(3) == 0 ? trace : nullptr,
                        .loss = 0.3 * random.uniform(),
                        .loss_correlation = random.uniform(),
                        .burst_loss = GilbertElliott::bursts(0.2 * random.uniform(), 5),
                        .duplication = 0.3 * random.uniform(),
                        .delay = std::chrono::microseconds(random.below(100'000)),
                        .jitter = std::chrono::microseconds(random.below(20'000)),
                        .jitter_correlation = random.uniform(),
                        .reordering = 0.3 * random.uniform(),
                        .reordering_delay = std::chrono::microseconds(random.below(20'000))};
    };
    Link link(draw(), seed);
    Time now = at_ms(0);
    for (int i = 0; i < 3; ++i) link.change_at(at_ms(300 * (i + 1)), draw());
    std::vector<int> copies(1000);
    std::uint64_t received = 0;
    const auto receive = [&] {
      while (const LinkDatagram* next = link.poll_arrival(now)) {
        std::uint32_t number;
        std::memcpy(&number, next->payload().data(), sizeof number);
        ASSERT_LT(number, copies.size());
        ASSERT_LE(++copies[number], 2);
        ++received;
      }
    };
    for (std::uint32_t i = 0; i < 1000; ++i) {
      now += std::chrono::microseconds(random.below(2000));
      if (random.below(2) == 0) receive();
      send(link, i, now, 4 + random.below(1500));
      expect_conservation(link);
      EXPECT_GE(link.next_timeout(), at_ms(0));
    }
    while (link.next_timeout() != k_never) {
      now = std::max(now, link.next_timeout());
      receive();
    }
    EXPECT_EQ(link.in_transit(), 0u);
    EXPECT_EQ(link.stats().delivered, received);
    expect_conservation(link);
  }
}

TEST(Link, SameSeedSameFate) {
  for (std::uint64_t seed : {5u, 6u}) {
    std::vector<std::uint32_t> runs[2];
    for (auto& run : runs) {
      Link link({.loss = 0.2,
                 .duplication = 0.1,
                 .jitter = 3ms,
                 .reordering = 0.2,
                 .reordering_delay = 4ms},
                seed);
      for (std::uint32_t i = 0; i < 500; ++i) send(link, i, at_ms(i));
      for (const Arrived& one : drain(link)) run.push_back(one.number);
    }
    EXPECT_EQ(runs[0], runs[1]) << "seed " << seed;
  }
}

}  // namespace
}  // namespace sheaf::quic
