#include "emulation/capacity_trace.h"

#include <gtest/gtest.h>

#include "emulation/link_fixture.h"

namespace sheaf::quic {
namespace {

std::shared_ptr<const CapacityTrace> trace(std::string_view text) {
  auto parsed = CapacityTrace::parse(text);
  EXPECT_TRUE(parsed);
  return std::make_shared<const CapacityTrace>(*parsed);
}

TEST(CapacityTrace, ReadsTimestamps) {
  const auto parsed = trace("0\n0\n7\r\n12");
  EXPECT_EQ(parsed->opportunities(), (std::vector<std::uint32_t>{0, 0, 7, 12}));
  EXPECT_EQ(parsed->period(), 12ms);
  EXPECT_EQ(parsed->mean_rate(), 500'000u);  // 4 * 1500 bytes in 12 ms
}

TEST(CapacityTrace, ErrorsNameLineAndCause) {
  const struct {
    std::string text;
    std::size_t line;
    std::string cause;
  } cases[] = {
      {"", 1, "the trace is empty"},
      {"0\n0\n", 2, "the last timestamp must be above 0"},
      {"1\n2\n\n3\n", 3, "a whole number of milliseconds is expected"},
      {"1\n-2\n", 2, "a whole number of milliseconds is expected"},
      {"1\n2 \n", 2, "a whole number of milliseconds is expected"},
      {"1.5\n", 1, "a whole number of milliseconds is expected"},
      {"1\n5\n4\n", 3, "the timestamp is earlier than the one before"},
      {"700000000\n", 1, "the timestamp is later than a week"},
      {"99999999999999999999999\n", 1, "the timestamp is later than a week"},
  };
  for (const auto& one : cases) {
    SCOPED_TRACE(one.text);
    const auto parsed = CapacityTrace::parse(one.text);
    ASSERT_FALSE(parsed);
    EXPECT_EQ(parsed.error().line, one.line);
    EXPECT_EQ(parsed.error().cause, one.cause);
  }
}

TEST(CapacityTrace, OneFullDatagramPerOpportunityAndTheTraceRepeats) {
  Link link({.trace = trace("2\n5\n5\n10\n")}, 1);
  for (std::uint32_t i = 0; i < 9; ++i) send(link, i, at_ms(0), 1500);
  std::vector<Time> times;
  for (const Arrived& one : drain(link)) times.push_back(one.when);
  EXPECT_EQ(times, (std::vector<Time>{at_ms(2), at_ms(5), at_ms(5), at_ms(10), at_ms(12), at_ms(15),
                                      at_ms(15), at_ms(20), at_ms(22)}));
}

TEST(CapacityTrace, SmallDatagramsShareAnOpportunityAndLargeOnesTakeSeveral) {
  Link link({.trace = trace("2\n5\n10\n")}, 1);
  for (std::uint32_t i = 0; i < 4; ++i) send(link, i, at_ms(0), 500);
  send(link, 4, at_ms(0), 2000);  // the last 1000 bytes of 5 ms, and 1000 of 10 ms
  send(link, 5, at_ms(0), 500);
  std::vector<Time> times;
  for (const Arrived& one : drain(link)) times.push_back(one.when);
  EXPECT_EQ(times,
            (std::vector<Time>{at_ms(2), at_ms(2), at_ms(2), at_ms(5), at_ms(10), at_ms(10)}));
}

TEST(CapacityTrace, WhatNobodyUsesIsLost) {
  Link link({.trace = trace("2\n4\n5\n10\n")}, 1);
  send(link, 0, at_ms(0), 100);
  std::vector<Arrived> arrived = drain(link);
  send(link, 1, at_us(2001), 1400);  // the rest of 2 ms is over
  receive(link, at_ms(4), arrived);
  send(link, 2, at_us(4500), 1500);
  send(link, 3, at_ms(1234),
       1500);  // the first opportunity in round 123 after 4 ms is that at 4 ms
  for (const Arrived& one : drain(link)) arrived.push_back(one);
  ASSERT_EQ(arrived.size(), 4u);
  EXPECT_EQ(arrived[0].when, at_ms(2));
  EXPECT_EQ(arrived[1].when, at_ms(4));
  EXPECT_EQ(arrived[2].when, at_ms(5));
  EXPECT_EQ(arrived[3].when, at_ms(1234));
}

TEST(CapacityTrace, ABusyLinkRunsAtTheMeanRate) {
  constexpr std::uint64_t k_seed = 12;
  SCOPED_TRACE("seed " + std::to_string(k_seed));
  SeededRandom random(k_seed);
  std::string text;
  std::uint64_t when = 0;
  for (int i = 0; i < 5000; ++i) text += std::to_string(when += random.below(5)) + "\n";
  const auto parsed = trace(text);
  Link link({.queue_bytes = 20'000, .trace = parsed}, k_seed);
  std::vector<Arrived> arrived;
  const Time end = at_ms(3 * static_cast<std::int64_t>(when));
  for (Time now{}; now <= end; now += 1ms) {
    // More than any millisecond can carry.
    for (int i = 0; i < 5; ++i) send(link, 0, now, 300 + random.below(1200));
    receive(link, now, arrived);
  }
  const double seconds = std::chrono::duration<double>(end.time_since_epoch()).count();
  const double rate = static_cast<double>(link.stats().bytes_delivered) / seconds;
  EXPECT_NEAR(rate / static_cast<double>(parsed->mean_rate()), 1, 0.001);
}

TEST(CapacityTrace, MayReplaceARateAtAnyTime) {
  Link link({.rate = 12_mbps}, 1);  // 1500 bytes in 1 ms
  link.change_at(at_us(1500), {.trace = trace("7\n")});
  link.change_at(at_ms(15), {.rate = 12_mbps});
  for (std::uint32_t i = 0; i < 6; ++i) send(link, i, at_ms(0), 1500);
  std::vector<Time> times;
  for (const Arrived& one : drain(link)) times.push_back(one.when);
  EXPECT_EQ(times,
            (std::vector<Time>{at_ms(1), at_ms(2), at_ms(7), at_ms(14), at_ms(21), at_ms(22)}));
}

}  // namespace
}  // namespace sheaf::quic
