#include "fec/named_set.h"

#include <gtest/gtest.h>

#include "fec/packets.h"

namespace sheaf::quic::fec {
namespace {

using Encoded = std::vector<std::uint8_t>;

Encoded encode(const NamedSet& set) {
  Encoded bytes(k_max_set_bytes);
  Writer writer(bytes);
  set.write(writer);
  bytes.resize(writer.size());
  return bytes;
}

std::optional<NamedSet> decode(const Encoded& bytes) {
  Reader reader(bytes);
  auto set = NamedSet::read(reader);
  return reader.ok() && reader.empty() ? set : std::nullopt;
}

void expect_bytes(const NamedSet& set, const Encoded& bytes) {
  EXPECT_EQ(encode(set), bytes);
  const auto again = decode(bytes);
  ASSERT_TRUE(again);
  EXPECT_EQ(*again, set);
}

TEST(NamedSet, HasTheseBytes) {
  expect_bytes(set_of({7}), {7, 0});
  expect_bytes(set_of({7, 8}), {7, 1, 0x01});
  expect_bytes(set_of({0x1234, 0x1235, 0x1237, 0x123d}), {0x52, 0x34, 2, 0x05, 0x01});
  expect_bytes(set_of({7, 40}), {7, 0x81, 32});
  expect_bytes(set_of({7, 40, 1000}), {7, 0x83, 32, 0x43, 0xbf});
  Encoded full(18, 0xff);
  full[0] = 63;
  full[1] = 16;
  full[17] = 0x7f;
  expect_bytes(run_of(63, 128), full);
  expect_bytes(set_of({k_max_varint}), {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0});
}

TEST(NamedSet, TakesPacketNumbersInAscendingOrder) {
  NamedSet set;
  EXPECT_FALSE(set.add(k_max_varint + 1));
  EXPECT_TRUE(set.add(100));
  EXPECT_FALSE(set.add(100));
  EXPECT_FALSE(set.add(99));
  EXPECT_TRUE(set.add(101));
  EXPECT_EQ(set, set_of({100, 101}));
}

TEST(NamedSet, IsAsLargeAsTheWireAllows) {
  NamedSet close = run_of(1, 128);
  EXPECT_EQ(close.size(), 128u);
  EXPECT_FALSE(close.add(129));

  NamedSet far = set_of({1});
  for (std::uint64_t i = 1; i <= 8; ++i) EXPECT_TRUE(far.add(1 + 1000 * i));
  EXPECT_FALSE(far.add(8002)) << "a ninth gap does not fit";
  EXPECT_EQ(encode(far).size(), 2 + k_max_set_body);

  NamedSet mixed = run_of(1, 17);
  EXPECT_TRUE(mixed.add(128)) << "as a bitmap";
  EXPECT_FALSE(mixed.add(129)) << "neither as a bitmap nor as gaps";
}

TEST(NamedSet, RefusesEveryTruncation) {
  for (const NamedSet& set : {set_of({7}), set_of({900, 5000, 70'000}), run_of(70'000, 128)}) {
    const Encoded bytes = encode(set);
    for (std::size_t length = 0; length < bytes.size(); ++length) {
      EXPECT_FALSE(decode({bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(length)}))
          << length;
    }
  }
}

TEST(NamedSet, RefusesWhatNoEncoderWrites) {
  Encoded long_body(19, 0xff);
  long_body[0] = 7;
  long_body[1] = 17;
  const Encoded wrong[] = {
      {7, 0x20},  // reserved bits
      {7, 0x40},
      {7, 1, 0},  // zeros at the end of the bitmap
      {7, 2, 1, 0},
      {7, 0x80},  // gaps where a bitmap is as short
      {7, 0x81, 0},
      {7, 5, 0, 0, 0, 0, 1},  // a bitmap where gaps are shorter
      {7, 0x82, 0x40, 32},    // a longer integer than needed
      {7, 0x81, 0x40},        // half an integer
      long_body,
      {7, 16, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
       0xff, 0xff},                                            // first + 128
      {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 1},  // above all packet numbers
      {7, 0x88, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff},
  };
  for (const Encoded& bytes : wrong) EXPECT_FALSE(decode(bytes)) << ::testing::PrintToString(bytes);
}

TEST(NamedSet, SurvivesARoundTrip) {
  const std::uint64_t seed = 1;
  SeededRandom random{seed};
  for (int round = 0; round < 5000; ++round) {
    NamedSet set;
    const std::uint64_t spread = 1 + random.below(std::uint64_t{1} << random.below(20));
    std::uint64_t number = random.below(std::uint64_t{1} << (1 + random.below(61)));
    while (set.add(number)) number += 1 + random.below(spread);
    const auto again = decode(encode(set));
    ASSERT_TRUE(again) << "seed " << seed << ", round " << round;
    ASSERT_EQ(*again, set);
    ASSERT_LE(encode(set).size(), k_max_set_bytes);
  }
}

}  // namespace
}  // namespace sheaf::quic::fec
