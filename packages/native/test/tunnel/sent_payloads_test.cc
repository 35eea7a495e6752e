#include "tunnel/sent_payloads.h"

#include <gtest/gtest.h>

#include <map>

#include "util/random.h"

namespace sheaf::quic {
namespace {

std::vector<std::uint8_t> payload(std::uint64_t value, std::size_t size = 100) {
  return std::vector<std::uint8_t>(size, static_cast<std::uint8_t>(value));
}

TEST(SentPayloads, ReturnsALostPayloadOnce) {
  SentPayloads sent(10'000);
  const std::uint64_t first = sent.keep(payload(1), 1);
  const std::uint64_t second = sent.keep(payload(2), 2);
  const auto lost = sent.take_lost(second);
  ASSERT_TRUE(lost);
  EXPECT_EQ(lost->owner, 2u);
  EXPECT_EQ(lost->payload[99], 2);
  EXPECT_FALSE(sent.take_lost(second));
  sent.on_acknowledged(first);
  EXPECT_FALSE(sent.take_lost(first));
  EXPECT_EQ(sent.bytes(), 0u);
}

// A peer acknowledges all but the first.
TEST(SentPayloads, ForgetsTheOldestThatHoldsUpVeryManyOthers) {
  SentPayloads sent(10'000);
  const std::uint64_t first = sent.keep(payload(1), 1);
  for (int i = 0; i < 20'000; ++i) sent.on_acknowledged(sent.keep(payload(2), 2));
  EXPECT_EQ(sent.forgotten(), 1u);
  EXPECT_FALSE(sent.take_lost(first));
  EXPECT_EQ(sent.size(), 0u);
}

TEST(SentPayloads, IgnoresIdentifiersThatItNeverGave) {
  SentPayloads sent(10'000);
  EXPECT_FALSE(sent.take_lost(0));
  sent.on_acknowledged(7);
  const std::uint64_t only = sent.keep(payload(1), 1);
  EXPECT_FALSE(sent.take_lost(only + 1));
  EXPECT_FALSE(sent.take_lost(UINT64_MAX));
  EXPECT_TRUE(sent.take_lost(only));
}

TEST(SentPayloads, CopiesWhatIsUnknownFromTheOldestOn) {
  SentPayloads sent(10'000);
  const std::uint64_t first = sent.keep(payload(1), 1);
  sent.keep(payload(2), 2);
  sent.keep(payload(3), 3);
  sent.on_acknowledged(first);
  const auto copy = [&](std::uint8_t copies) -> int {
    const auto found = sent.to_copy(copies);
    if (!found) return 0;
    sent.on_copied();
    return (*found)[0];
  };
  EXPECT_EQ(copy(1), 2);
  EXPECT_EQ(copy(1), 3);
  EXPECT_EQ(copy(1), 0);
  EXPECT_EQ(copy(2), 2);
}

TEST(SentPayloads, ForgetsTheOldestBeyondItsLimit) {
  SentPayloads sent(1000);
  for (std::uint64_t i = 0; i < 15; ++i) sent.keep(payload(i), i);
  EXPECT_EQ(sent.bytes(), 1000u);
  EXPECT_EQ(sent.forgotten(), 5u);
  EXPECT_FALSE(sent.take_lost(4));
  EXPECT_TRUE(sent.take_lost(5));
}

TEST(SentPayloads, AgreesWithAMapWhateverHappens) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    SeededRandom random(seed);
    SentPayloads sent(SIZE_MAX);
    std::map<std::uint64_t, std::vector<std::uint8_t>> expected;
    for (int i = 0; i < 2000; ++i) {
      const std::uint64_t known = random.below(200);
      switch (random.below(4)) {
        case 0:
          sent.on_acknowledged(known);
          expected.erase(known);
          break;
        case 1: {
          const auto lost = sent.take_lost(known);
          const auto found = expected.find(known);
          ASSERT_EQ(lost.has_value(), found != expected.end());
          if (!lost) break;
          ASSERT_EQ(std::vector<std::uint8_t>(lost->payload.begin(), lost->payload.end()),
                    found->second);
          expected.erase(found);
          break;
        }
        default: {
          const auto made = payload(random.next(), 1 + random.below(50));
          expected[sent.keep(made, 0)] = made;
        }
      }
      std::size_t bytes = 0;
      for (const auto& [_, kept] : expected) bytes += kept.size();
      ASSERT_EQ(sent.bytes(), bytes);
      ASSERT_EQ(sent.size(), expected.size());
    }
  }
}

}  // namespace
}  // namespace sheaf::quic
