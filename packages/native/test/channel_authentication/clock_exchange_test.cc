#include "channel_authentication/clock_exchange.h"

#include <gtest/gtest.h>

#include "channel_authentication/channel_world.h"

namespace sheaf::quic {
namespace {

TEST(ClockBound, TakesTheTightestAnswerAndAddsDrift) {
  ClockBound clock;
  EXPECT_FALSE(clock.known());
  const Time source = k_auth_start + 1h;
  clock.on_answer(k_auth_start, source + 50ms);
  EXPECT_EQ(clock.source_time(k_auth_start), source + 50ms);
  clock.on_answer(k_auth_start, source + 10ms);
  EXPECT_EQ(clock.source_time(k_auth_start), source + 10ms);
  clock.on_answer(k_auth_start + 1s, source + 1s + 40ms);
  EXPECT_EQ(clock.source_time(k_auth_start + 1s), source + 1s + 10ms + 1ms);
  // After 100 s of drift a new answer is better than the old one.
  clock.on_answer(k_auth_start + 100s, source + 100s + 30ms);
  EXPECT_EQ(clock.source_time(k_auth_start + 100s), source + 100s + 30ms);
}

TEST(ClockExchange, AsksUntilTheSourceRespondsAndAgainLater) {
  SeededRandom random{43};
  ClockExchange exchange;
  EXPECT_EQ(exchange.next_timeout(), k_never);
  exchange.begin(k_auth_start);
  const auto lost = exchange.poll(k_auth_start, random);
  ASSERT_TRUE(lost);
  EXPECT_FALSE(exchange.poll(k_auth_start + 1ms, random)) << "not yet";
  const Time again = exchange.next_timeout();
  const auto nonce = exchange.poll(again, random);
  ASSERT_TRUE(nonce);
  EXPECT_NE(*nonce, *lost);
  EXPECT_FALSE(exchange.on_response(*lost, k_auth_start, again)) << "too late";
  EXPECT_FALSE(exchange.bound().known());
  EXPECT_TRUE(exchange.on_response(*nonce, again + 1h, again + 20ms));
  EXPECT_EQ(exchange.bound().source_time(again), again + 1h);
  EXPECT_FALSE(exchange.on_response(*nonce, again, again + 21ms)) << "a second response";
  EXPECT_EQ(exchange.next_timeout(), again + 10s);
}

TEST(ClockExchange, ForgetsWhatItKnewBeforeASleep) {
  SeededRandom random{45};
  ClockExchange exchange;
  exchange.begin_again(k_auth_start);
  EXPECT_EQ(exchange.next_timeout(), k_never) << "had not begun";
  exchange.begin(k_auth_start);
  const auto first = *exchange.poll(k_auth_start, random);
  exchange.on_response(first, k_auth_start, k_auth_start);
  const auto open = *exchange.poll(k_auth_start + 10s, random);
  exchange.begin_again(k_auth_start + 11s);
  EXPECT_FALSE(exchange.bound().known());
  EXPECT_FALSE(exchange.on_response(open, k_auth_start, k_auth_start + 11s))
      << "asked before the sleep";
  EXPECT_TRUE(exchange.poll(k_auth_start + 11s, random));
}

// Asks the source at `sent`, whose clock then shows `shown`, and takes the response 20 ms later.
void exchange_clocks(ClockExchange& exchange, Time sent, Time shown) {
  SeededRandom random{46};
  const auto nonce = exchange.poll(sent, random);
  ASSERT_TRUE(nonce);
  EXPECT_TRUE(exchange.on_response(*nonce, shown, sent + 20ms));
}

// The member's clock stood still for 10 s, which nobody told it.
TEST(ClockExchange, AsksAgainAtOnceWhenAResponseProvesTheBoundWrong) {
  ClockExchange exchange;
  const Time source = k_auth_start + 1h;
  exchange.begin(k_auth_start);
  exchange_clocks(exchange, k_auth_start, source + 10ms);
  const Time later = k_auth_start + 10s;
  exchange_clocks(exchange, later, source + 20s + 10ms);
  EXPECT_FALSE(exchange.bound().known());
  EXPECT_EQ(exchange.bound().forgotten(), 1u);
  EXPECT_EQ(exchange.next_timeout(), later + 20ms);
  exchange_clocks(exchange, later + 20ms, source + 20s + 30ms);
  EXPECT_EQ(exchange.bound().source_time(later + 20ms), source + 20s + 30ms);
  EXPECT_EQ(exchange.next_timeout(), later + 20ms + 10s);
}

// What it says of clocks that are right is no proof against the bound, however slow the ways are.
TEST(ClockExchange, KeepsABoundThatASlowerResponseDoesNotDisprove) {
  ClockExchange exchange;
  exchange.begin(k_auth_start);
  exchange_clocks(exchange, k_auth_start, k_auth_start);
  exchange_clocks(exchange, k_auth_start + 10s, k_auth_start + 10s + 20ms);
  EXPECT_EQ(exchange.bound().source_time(k_auth_start + 10s), k_auth_start + 10s + 10ms);
  EXPECT_EQ(exchange.bound().forgotten(), 0u);
}

TEST(ClockExchange, AsksAgainWhenItsOwnClockJumpsBack) {
  SeededRandom random{47};
  ClockExchange exchange;
  exchange.begin(k_auth_start);
  exchange_clocks(exchange, k_auth_start, k_auth_start);
  EXPECT_TRUE(exchange.poll(k_auth_start - 10s, random));
  EXPECT_FALSE(exchange.bound().known());
  // And when it does so while a query is on its way
  const auto nonce = *exchange.poll(exchange.next_timeout(), random);
  EXPECT_TRUE(exchange.on_response(nonce, k_auth_start, k_auth_start - 20s));
  EXPECT_FALSE(exchange.bound().known());
  EXPECT_EQ(exchange.next_timeout(), k_auth_start - 20s);
}

// Without responses, queries become rare.
TEST(ClockExchange, WaitsLongerForASourceThatIsSilent) {
  SeededRandom random{44};
  ClockExchange exchange;
  exchange.begin(k_auth_start);
  Time now = k_auth_start;
  for (int i = 0; i < 10; ++i, now = exchange.next_timeout())
    EXPECT_TRUE(exchange.poll(now, random));
  EXPECT_GT(now, k_auth_start + 30s);
  EXPECT_LE(exchange.next_timeout() - now, 10s);
}

}  // namespace
}  // namespace sheaf::quic
