#include "crypto/ticket_keys.h"

#include <gtest/gtest.h>

namespace sheaf::quic {
namespace {

using std::chrono::hours;
using std::chrono::minutes;

constexpr TicketKeys::Time k_start = hours(400'000);

std::vector<std::uint8_t> ticket(std::uint8_t name) { return std::vector<std::uint8_t>(200, name); }

TEST(TicketKeys, AreTheSameForALifetime) {
  TicketKeys keys;
  const auto first = keys.current(k_start);
  ASSERT_TRUE(first);
  EXPECT_EQ(keys.current(k_start + hours(6) - minutes(1)), first);
  EXPECT_NE(keys.current(k_start + hours(6)), first);
}

TEST(TicketKeys, OfEachBindingDiffer) {
  TicketKeys keys;
  const auto now = *keys.current(k_start);
  const std::uint8_t one[] = {1};
  const std::uint8_t other[] = {2};
  EXPECT_EQ(keys.key(now, one), keys.key(now, one));
  EXPECT_NE(keys.key(now, one), keys.key(now, other));
}

TEST(TicketKeys, OldOnesOpenTheirTicketsForOneMoreLifetime) {
  TicketKeys keys;
  const auto first = *keys.current(k_start);
  const TicketKey key = keys.key(first, {});
  keys.note(first, ticket(1));
  const auto second = *keys.current(k_start + hours(6));
  keys.note(second, ticket(2));
  EXPECT_NE(keys.key(second, {}), key);
  const auto late = k_start + hours(12) - minutes(1);
  EXPECT_EQ(keys.of(ticket(1), late), first);
  EXPECT_EQ(keys.key(first, {}), key);
  EXPECT_EQ(keys.of(ticket(2), late), second);
  EXPECT_EQ(keys.of(ticket(3), late), second) << "unknown";
  EXPECT_EQ(keys.of({}, late), second) << "not even a name";
}

TEST(TicketKeys, OldOnesAreWipedAfterwards) {
  TicketKeys keys;
  const auto first = *keys.current(k_start);
  const TicketKey key = keys.key(first, {});
  keys.note(first, ticket(1));
  for (const auto later : {hours(6), hours(12)}) {
    static_cast<void>(keys.current(k_start + later));
  }
  EXPECT_NE(keys.of(ticket(1), k_start + hours(12)), first);
  EXPECT_NE(keys.key(first, {}), key);
}

// Nobody connected meanwhile.
TEST(TicketKeys, OldOnesAreNotKeptAfterAPause) {
  TicketKeys keys;
  const auto first = *keys.current(k_start);
  const TicketKey key = keys.key(first, {});
  keys.note(first, ticket(1));
  EXPECT_NE(keys.of(ticket(1), k_start + hours(30)), first);
  EXPECT_NE(keys.key(first, {}), key);
}

TEST(TicketKeys, SurviveAClockThatIsSetBack) {
  TicketKeys keys;
  const auto first = *keys.current(k_start);
  EXPECT_EQ(keys.current(k_start - hours(100)), first);
  EXPECT_NE(keys.current(k_start - hours(94)), first);
}

TEST(TicketKeys, RememberABoundedNumberOfNames) {
  TicketKeys keys;
  const auto first = *keys.current(k_start);
  for (int name = 0; name < 100; ++name) keys.note(first, ticket(static_cast<std::uint8_t>(name)));
  const auto second = *keys.current(k_start + hours(6));
  EXPECT_EQ(keys.of(ticket(99), k_start + hours(7)), first);
  EXPECT_EQ(keys.of(ticket(36), k_start + hours(7)), first);
  EXPECT_EQ(keys.of(ticket(35), k_start + hours(7)), second);
}

TEST(TicketKeys, ThatAreGivenStay) {
  TicketKeys keys;
  TicketKey given{};
  given.fill(7);
  keys.fix(given);
  const auto first = *keys.current(k_start);
  const TicketKey key = keys.key(first, {});
  EXPECT_EQ(keys.current(k_start + hours(1000)), first);
  EXPECT_EQ(keys.key(first, {}), key);
}

}  // namespace
}  // namespace sheaf::quic
