#include "crypto/ticket_keys.h"

#include <gtest/gtest.h>

#include "crypto/server_secrets.h"

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
  EXPECT_EQ(keys.of(ticket(1), {}, late), first);
  EXPECT_EQ(keys.key(first, {}), key);
  EXPECT_EQ(keys.of(ticket(2), {}, late), second);
  EXPECT_EQ(keys.of(ticket(3), {}, late), second) << "unknown";
  EXPECT_EQ(keys.of({}, {}, late), second) << "not even a name";
}

TEST(TicketKeys, OldOnesAreWipedAfterwards) {
  TicketKeys keys;
  const auto first = *keys.current(k_start);
  const TicketKey key = keys.key(first, {});
  keys.note(first, ticket(1));
  for (const auto later : {hours(6), hours(12)}) {
    static_cast<void>(keys.current(k_start + later));
  }
  EXPECT_NE(keys.of(ticket(1), {}, k_start + hours(12)), first);
  EXPECT_NE(keys.key(first, {}), key);
}

// Nobody connected meanwhile.
TEST(TicketKeys, OldOnesAreNotKeptAfterAPause) {
  TicketKeys keys;
  const auto first = *keys.current(k_start);
  const TicketKey key = keys.key(first, {});
  keys.note(first, ticket(1));
  EXPECT_NE(keys.of(ticket(1), {}, k_start + hours(30)), first);
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
  EXPECT_EQ(keys.of(ticket(99), {}, k_start + hours(7)), first);
  EXPECT_EQ(keys.of(ticket(36), {}, k_start + hours(7)), first);
  EXPECT_EQ(keys.of(ticket(35), {}, k_start + hours(7)), second);
}

// What another process sealed, or this one before a restart
std::vector<std::uint8_t> ticket_of(TicketKeys& keys, Bytes binding, TicketKeys::Time now) {
  const TicketKey key = keys.key(*keys.current(now), binding);
  const auto name = ticket_name(key, now);
  EXPECT_TRUE(name);
  std::vector<std::uint8_t> made(name->begin(), name->end());
  made.resize(200);
  return made;
}

constexpr std::uint8_t k_binding[] = {1, 2, 3};

TEST(TicketKeys, OfTheSameSecretOpenEachOthersTickets) {
  TicketKeys first;
  first.derive_from({server_secret(1)});
  TicketKeys second;
  second.derive_from({server_secret(2), server_secret(1)});
  const auto start = k_start - k_start % TicketKeys::k_lifetime;
  const auto sealed = ticket_of(first, k_binding, start);
  const TicketKey key = first.key(*first.current(start), k_binding);
  for (const auto age : {hours(0), hours(6), hours(11)}) {
    SCOPED_TRACE(age.count());
    EXPECT_EQ(second.key(*second.of(sealed, k_binding, start + age), k_binding), key);
  }
}

TEST(TicketKeys, OfSecretsChangeWithThePeriodAndAreGoneAfterTwo) {
  TicketKeys keys;
  keys.derive_from({server_secret(1)});
  const auto start = k_start - k_start % TicketKeys::k_lifetime;
  const TicketKey key = keys.key(*keys.current(start), k_binding);
  const auto sealed = ticket_of(keys, k_binding, start);
  EXPECT_EQ(keys.key(*keys.current(start + hours(6) - minutes(1)), k_binding), key);
  EXPECT_NE(keys.key(*keys.current(start + hours(6)), k_binding), key);
  EXPECT_EQ(keys.key(*keys.of(sealed, k_binding, start + hours(12) - minutes(1)), k_binding), key);
  EXPECT_NE(keys.key(*keys.of(sealed, k_binding, start + hours(12)), k_binding), key);
  // A clock that is set back finds the old keys again.
  EXPECT_EQ(keys.key(*keys.current(start), k_binding), key);
}

TEST(TicketKeys, OfOtherSecretsOrBindingsOpenNothing) {
  TicketKeys keys;
  keys.derive_from({server_secret(1)});
  const TicketKey key = keys.key(*keys.current(k_start), k_binding);
  TicketKeys others;
  others.derive_from({server_secret(2)});
  EXPECT_NE(
      others.key(*others.of(ticket_of(keys, k_binding, k_start), k_binding, k_start), k_binding),
      key);
  EXPECT_NE(keys.key(*keys.current(k_start), {}), key);
}

}  // namespace
}  // namespace sheaf::quic
