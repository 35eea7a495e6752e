#include <gtest/gtest.h>

#include "channel/offer_check.h"
#include "channel/pair.h"
#include "channel_authentication/make_verifier.h"
#include "channel_authentication/timed_source.h"
#include "stream/allocation_counter.h"

namespace sheaf::quic {
namespace {

// A channel whose log has this reach, and what docs/reference/limits.md says that a receiver of it
// holds beside what was not read
struct MemoryCase {
  AuthenticationScheme scheme;
  std::uint32_t reach;
  std::uint16_t packet_size;
  double megabytes;
  std::uint64_t max_rate = 1'250'000;
};

class ReceiverMemory : public testing::TestWithParam<MemoryCase> {};

AuthenticationOffer offer_of(AuthenticationScheme scheme) {
  if (scheme == AuthenticationScheme::kNone) return {};
  if (scheme == AuthenticationScheme::kTimed) {
    KeyChain chain{k_test_channel, ChainKey{4}};
    const TimedSchedule schedule{.start = k_pair_start, .interval = 250ms};
    return TimedSource(k_test_channel, schedule, chain).offer(k_pair_start);
  }
  return offer_of_public_key(scheme, SigningKey{Ed25519Seed{3}}.public_key());
}

TEST_P(ReceiverMemory, IsThatOfTheDocuments) {
  ChannelOffer offer = example_offer();
  offer.authentication = offer_of(GetParam().scheme);
  offer.repairs = true;
  offer.packet_size = GetParam().packet_size;
  offer.reach = GetParam().reach;
  offer.max_rate = GetParam().max_rate;
  ASSERT_FALSE(objection(offer, ChannelLimits{}));
  SeededRandom random{5};
  InlineRunner runner;
  const ClockBound clock;
  const std::size_t before = live_bytes();
  const auto verifier =
      make_verifier(offer.authentication, {offer.channel, offer.packet_size, offer.max_rate},
                    {runner, clock, random});
  const auto receiver = std::make_unique<ChannelReceiver>(offer, *verifier, random, k_pair_start);
  const double megabytes = static_cast<double>(live_bytes() - before) / 1e6;
  RecordProperty("megabytes", std::to_string(megabytes));
  EXPECT_LE(megabytes, GetParam().megabytes);
  EXPECT_GT(megabytes, GetParam().megabytes - 1) << "the documents say too much";
}

INSTANTIATE_TEST_SUITE_P(
    Logs, ReceiverMemory,
    testing::Values(MemoryCase{AuthenticationScheme::kNone, 8192, 1300, 11},
                    MemoryCase{AuthenticationScheme::kSigned, 8192, 1300, 17},
                    MemoryCase{AuthenticationScheme::kTimed, 8192, 1300, 16},
                    MemoryCase{AuthenticationScheme::kNone, 16'384, 1300, 22},
                    MemoryCase{AuthenticationScheme::kSigned, 16'384, 1300, 27},
                    MemoryCase{AuthenticationScheme::kSigned, 16'384, 1452, 30},
                    MemoryCase{AuthenticationScheme::kTimed, 16'384, 1300, 40, 22'000'000}));

}  // namespace
}  // namespace sheaf::quic
