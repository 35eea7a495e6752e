#include "sim/link.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "sim/units.h"

namespace sheaf::quic {
namespace {

Time at_us(std::int64_t microseconds) { return Time(std::chrono::microseconds(microseconds)); }
Time at_ms(std::int64_t milliseconds) { return at_us(1000 * milliseconds); }

// The first four bytes are a number.
LinkDatagram datagram(std::uint32_t number, std::size_t size = 1000, Ecn ecn = Ecn::kNotEct) {
  LinkDatagram made{.payload = std::vector<std::uint8_t>(size), .path = {}, .ecn = ecn};
  std::memcpy(made.payload.data(), &number, sizeof number);
  return made;
}

struct Arrived {
  std::uint32_t number;
  Time when;
  Ecn ecn;
};

std::vector<Arrived> drain(Link& link) {
  std::vector<Arrived> arrived;
  while (link.next_timeout() != k_never) {
    const Time now = link.next_timeout();
    while (const auto next = link.poll_arrival(now)) {
      std::uint32_t number;
      std::memcpy(&number, next->payload.data(), sizeof number);
      arrived.push_back({number, now, next->ecn});
    }
  }
  return arrived;
}

void expect_conservation(const Link& link) {
  const LinkStats& stats = link.stats();
  EXPECT_EQ(stats.sent + stats.duplicated,
            stats.too_large + stats.queue_full + stats.lost + stats.delivered + link.in_transit());
}

TEST(Link, DelaysAndKeepsTheOrder) {
  Link link({.delay = 30ms}, 1);
  for (std::uint32_t i = 0; i < 10; ++i) link.send(datagram(i), at_ms(i));
  const auto arrived = drain(link);
  ASSERT_EQ(arrived.size(), 10u);
  for (std::uint32_t i = 0; i < 10; ++i) {
    EXPECT_EQ(arrived[i].number, i);
    EXPECT_EQ(arrived[i].when, at_ms(30 + i));
  }
}

TEST(Link, TransmitsAtItsRate) {
  Link link({.rate = 8_mbps, .delay = 5ms}, 1);  // 1,000 bytes take 1 ms
  for (std::uint32_t i = 0; i < 5; ++i) link.send(datagram(i), at_ms(0));
  const auto arrived = drain(link);
  ASSERT_EQ(arrived.size(), 5u);
  for (std::uint32_t i = 0; i < 5; ++i) EXPECT_EQ(arrived[i].when, at_ms(6 + i));
}

TEST(Link, DropsTheTailOfAFullQueue) {
  Link link({.queue_bytes = 3000, .rate = 8_mbps}, 1);
  for (std::uint32_t i = 0; i < 10; ++i) link.send(datagram(i), at_ms(0));
  EXPECT_EQ(link.stats().queue_full, 6u);  // one is transmitted, three wait
  expect_conservation(link);
  EXPECT_EQ(drain(link).size(), 4u);
  expect_conservation(link);
}

TEST(Link, DropsWhatIsLargerThanItsMtu) {
  Link link({.mtu = 1300}, 1);
  link.send(datagram(0, 1300), at_ms(0));
  link.send(datagram(1, 1301), at_ms(0));
  EXPECT_EQ(drain(link).size(), 1u);
  EXPECT_EQ(link.stats().too_large, 1u);
}

TEST(Link, MarksOnlyEcnCapableDatagramsInALongQueue) {
  Link link({.mark_bytes = 2000, .rate = 8_mbps}, 1);
  for (std::uint32_t i = 0; i < 8; ++i) {
    link.send(datagram(i, 1000, i % 2 == 0 ? Ecn::kEct0 : Ecn::kNotEct), at_ms(0));
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
  for (std::uint32_t i = 0; i < 20'000; ++i) link.send(datagram(i, 10), at_us(i));
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
    jittery.send(datagram(i), at_ms(i));
    reordering.send(datagram(i), at_ms(i));
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
  for (std::uint32_t i = 0; i < 5; ++i) link.send(datagram(i), at_ms(0));
  const auto arrived = drain(link);
  ASSERT_EQ(arrived.size(), 5u);
  EXPECT_EQ(arrived[2].when, at_ms(3));  // began before the change
  EXPECT_EQ(arrived[3].when, at_ms(5));
  EXPECT_EQ(arrived[4].when, at_ms(7));
  link.send(datagram(5), at_ms(100));
  EXPECT_TRUE(drain(link).empty());
}

// Whatever its parameters and however it is used: every datagram is delivered, dropped or still
// under way, what arrives was sent, and the rate is kept.
TEST(Link, ConservesDatagrams) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    SeededRandom random(seed);
    const auto draw = [&] {
      return LinkConfig{.mtu = 200 + random.below(1500),
                        .queue_bytes = random.below(20'000),
                        .mark_bytes = random.below(10'000),
                        .rate = random.below(2) == 0 ? 0 : 1 + random.below(1'000'000),
                        .loss = 0.3 * random.uniform(),
                        .duplication = 0.3 * random.uniform(),
                        .delay = std::chrono::microseconds(random.below(100'000)),
                        .jitter = std::chrono::microseconds(random.below(20'000)),
                        .reordering = 0.3 * random.uniform(),
                        .reordering_delay = std::chrono::microseconds(random.below(20'000))};
    };
    Link link(draw(), seed);
    Time now = at_ms(0);
    for (int i = 0; i < 3; ++i) link.change_at(at_ms(300 * (i + 1)), draw());
    std::vector<int> copies(1000);
    std::uint64_t received = 0;
    const auto receive = [&] {
      while (const auto next = link.poll_arrival(now)) {
        std::uint32_t number;
        std::memcpy(&number, next->payload.data(), sizeof number);
        ASSERT_LT(number, copies.size());
        ASSERT_LE(++copies[number], 2);
        ++received;
      }
    };
    for (std::uint32_t i = 0; i < 1000; ++i) {
      now += std::chrono::microseconds(random.below(2000));
      if (random.below(2) == 0) receive();
      link.send(datagram(i, 4 + random.below(1500)), now);
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
      for (std::uint32_t i = 0; i < 500; ++i) link.send(datagram(i), at_ms(i));
      for (const Arrived& one : drain(link)) run.push_back(one.number);
    }
    EXPECT_EQ(runs[0], runs[1]) << "seed " << seed;
  }
}

}  // namespace
}  // namespace sheaf::quic
