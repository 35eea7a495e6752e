#include "channel_authentication/scheme.h"

#include <gtest/gtest.h>

#include "channel_authentication/channel_world.h"
#include "channel_authentication/make_verifier.h"
#include "channel_authentication/timed_source.h"
#include "crypto/secrets.h"

namespace sheaf::quic {
namespace {

AuthenticationOffer offer_with(std::uint8_t scheme, const std::string& hex) {
  AuthenticationOffer offer;
  offer.scheme = scheme;
  for (const std::uint8_t byte : from_hex(hex)) offer.parameters.push_back(byte);
  return offer;
}

const std::string k_timed_key = "000102030405060708090a0b0c0d0e0f";
const std::string k_key = "8a88e3dd7409f195fd52db2d3cba5d72ca6709bf1d94121bf3748801b40f6f5c";

TEST(SchemeOffer, HasKnownBytes) {
  Ed25519PublicKey key;
  std::ranges::copy(from_hex(k_key), key.begin());
  const auto signed_offer = offer_of_public_key(AuthenticationScheme::kSigned, key);
  EXPECT_EQ(signed_offer.scheme, 1);
  EXPECT_TRUE(std::ranges::equal(signed_offer.parameters.view(), from_hex(k_key)));
  TimedParameters timed{.schedule = {.start = Time(5s + 7us), .interval = 50ms, .delay = 2},
                        .known_interval = 263};
  std::ranges::copy(from_hex(k_timed_key), timed.known_key.begin());
  const auto timed_offer = offer_of(timed);
  EXPECT_EQ(timed_offer.scheme, 2);
  EXPECT_TRUE(std::ranges::equal(timed_offer.parameters.view(), from_hex("00000000004c4b470032"
                                                                         "02"
                                                                         "00000107" +
                                                                         k_timed_key)));
  const auto again = timed_parameters_of(timed_offer);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->schedule.start, timed.schedule.start);
  EXPECT_EQ(again->schedule.interval, 50ms);
  EXPECT_EQ(again->schedule.delay, 2u);
  EXPECT_EQ(again->known_interval, 263u);
  EXPECT_EQ(again->known_key, timed.known_key);
}

TEST(SchemeOffer, IsRefusedWithParametersThatNoSourceWrites) {
  const std::string start = "00000000004c4b47";
  const std::string rest = "00000107" + k_timed_key;
  const std::pair<AuthenticationOffer, const char*> refused[] = {
      {offer_with(0, "00"), "none has no parameters"},
      {offer_with(1, ""), "no key"},
      {offer_with(1, k_key.substr(2)), "a short key"},
      {offer_with(3, k_key + "00"), "a long key"},
      {offer_with(2, start + "0032" + "02" + rest + "00"), "more"},
      {offer_with(2, start + "0032" + "02" + rest.substr(2)), "less"},
      {offer_with(2, start + "0000" + "02" + rest), "intervals without length"},
      {offer_with(2, start + "0032" + "00" + rest), "keys that are disclosed at once"},
      {offer_with(2, start + "0032" + "15" + rest), "1050 ms until the key comes"},
      {offer_with(2,
                  "0010000000000001"
                  "0032"
                  "02" +
                      rest),
       "a start far away"},
      {offer_with(4, ""), "an unknown scheme"},
      {offer_with(255, ""), "a scheme without a number"},
  };
  SeededRandom random{5};
  InlineRunner runner;
  ClockBound clock;
  for (const auto& [offer, why] : refused) {
    EXPECT_FALSE(is_known(offer)) << why;
    EXPECT_EQ(make_verifier(offer, {k_test_channel, 1350, 1}, {runner, clock, random}), nullptr)
        << why;
  }
  EXPECT_TRUE(is_known(offer_with(0, "")));
  EXPECT_TRUE(is_known(offer_with(3, k_key)));
  EXPECT_TRUE(is_known(offer_with(2, start + "0032" + "14" + rest)));
}

TEST(SchemeOffer, OfATimedChannelHasAKeyThatIsDisclosedAlready) {
  KeyChain chain(k_test_channel, ChainKey{9});
  const TimedSchedule schedule{.start = k_auth_start, .interval = 50ms, .delay = 2};
  TimedSource source(k_test_channel, schedule, chain);
  for (const std::uint32_t interval : {1u, 2u, 3u, 4u, 3000u, k_chain_length, 5000u}) {
    const auto parameters = timed_parameters_of(source.offer(schedule.start_of(interval)));
    ASSERT_TRUE(parameters);
    EXPECT_EQ(parameters->known_interval, interval > 2 ? interval - 2 : 0);
    EXPECT_EQ(parameters->known_key, chain.key(parameters->known_interval));
  }
  // The last key of a chain would prove nothing of the next one.
  const auto between = timed_parameters_of(source.offer(schedule.start_of(k_chain_length + 2)));
  EXPECT_EQ(between->known_interval, k_chain_length);
  EXPECT_EQ(between->known_key, chain.commitment(1));
}

}  // namespace
}  // namespace sheaf::quic
