#include "http3/capsule.h"

#include <gtest/gtest.h>

#include <string>

#include "http3/byte_list.h"
#include "util/random.h"

namespace sheaf::http3 {
namespace {

template <std::size_t max_value>
std::optional<CapsuleRule> known(std::uint64_t type) {
  if (type == 0x2844) return CapsuleRule{20 * max_value, max_value};
  return type == 0x2843 || type == 0 ? std::optional(CapsuleRule{max_value}) : std::nullopt;
}

TEST(Capsule, GoldenBytes) {
  const auto value = bytes({0, 0, 0, 7, 'b', 'y', 'e'});
  const auto encoded = encode_capsule({0x2843, value});
  EXPECT_EQ(encoded, bytes({0x68, 0x43, 0x07, 0, 0, 0, 7, 'b', 'y', 'e'}));
  EXPECT_EQ(encode_capsule({0, {}}), bytes({0, 0}));
}

TEST(Capsule, ReadsThemCutAnywhere) {
  std::vector<std::uint8_t> stream;
  for (int i = 0; i < 10; ++i) {
    const std::vector<std::uint8_t> value(i * 13, static_cast<std::uint8_t>(i));
    const auto encoded = encode_capsule({i % 2 ? 0x2843u : 0x17u, value});
    stream.insert(stream.end(), encoded.begin(), encoded.end());
  }
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    SCOPED_TRACE(seed);
    quic::SeededRandom random(seed);
    CapsuleReader reader(known<1000>);
    std::vector<std::size_t> lengths;
    quic::Bytes rest = stream;
    while (!rest.empty()) {
      quic::Bytes piece = rest.first(std::min<std::size_t>(rest.size(), 1 + random.below(20)));
      rest = rest.subspan(piece.size());
      while (!piece.empty()) {
        const auto capsule = reader.next(piece);
        ASSERT_TRUE(capsule);
        if (*capsule) lengths.push_back((*capsule)->value.size());
      }
    }
    EXPECT_EQ(lengths, (std::vector<std::size_t>{13, 39, 65, 91, 117}));
    EXPECT_TRUE(reader.at_boundary());
  }
}

TEST(Capsule, TruncatedAtEveryLengthIsNotWhole) {
  const auto encoded = encode_capsule({0x2843, bytes({1, 2, 3, 4})});
  for (std::size_t length = 0; length < encoded.size(); ++length) {
    CapsuleReader reader(known<1000>);
    quic::Bytes piece = quic::Bytes(encoded).first(length);
    const auto capsule = reader.next(piece);
    ASSERT_TRUE(capsule);
    EXPECT_FALSE(*capsule);
    EXPECT_TRUE(piece.empty());
    EXPECT_EQ(reader.at_boundary(), length == 0);
  }
}

TEST(Capsule, EmptyOneIsWholeAtOnce) {
  CapsuleReader reader(known<1000>);
  const auto encoded = encode_capsule({0, {}});
  quic::Bytes piece = encoded;
  const auto capsule = reader.next(piece);
  ASSERT_TRUE(capsule && *capsule);
  EXPECT_TRUE((*capsule)->value.empty());
}

TEST(Capsule, LengthIsBoundedForKnownTypesOnly) {
  const auto long_unknown = bytes({0x17, 0xc0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 2, 3});
  CapsuleReader skipping(known<10>);
  quic::Bytes piece = long_unknown;
  ASSERT_TRUE(skipping.next(piece));
  EXPECT_FALSE(skipping.at_boundary());
  const auto long_known = bytes({0x00, 0x0b});
  CapsuleReader refusing(known<10>);
  piece = long_known;
  const auto refused = refusing.next(piece);
  // The length alone is too large, although no bytes follow.
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kMessageError);
}

TEST(Capsule, OneThatMayBeLostIsDroppedWhenItIsTooLong) {
  for (const std::size_t length : {10u, 11u, 200u}) {
    CapsuleReader reader(known<10>);
    auto stream = encode_capsule({0x2844, std::vector<std::uint8_t>(length)});
    const auto next = encode_capsule({0x2843, bytes({7})});
    stream.insert(stream.end(), next.begin(), next.end());
    std::vector<std::uint64_t> types;
    for (quic::Bytes rest = stream; !rest.empty();) {
      const auto capsule = reader.next(rest);
      ASSERT_TRUE(capsule);
      if (*capsule) types.push_back((*capsule)->type);
    }
    EXPECT_EQ(types.size(), length <= 10 ? 2u : 1u) << length;
    EXPECT_EQ(types.back(), 0x2843u);
    EXPECT_EQ(reader.dropped(), length <= 10 ? 0u : 1u);
  }
  CapsuleReader reader(known<10>);
  const auto longer = encode_capsule({0x2844, std::vector<std::uint8_t>(201)});
  quic::Bytes rest = longer;
  EXPECT_FALSE(reader.next(rest));
}

}  // namespace
}  // namespace sheaf::http3
