#include "multi_end/lease_messages.h"

#include <gtest/gtest.h>

#include <array>

#include "util/random.h"

namespace sheaf::quic {
namespace {

constexpr std::uint64_t k_large = k_max_varint;

std::vector<BackendMessage> one_of_each() {
  LeaseGrant grant{.credit = k_large, .id_leases = {3, k_large}, .ids = {}};
  grant.ids[0] = {.first = 5, .count = 16};
  grant.ids[1] = {.first = (std::uint64_t{1} << 60) - 1, .count = 1};
  const PathId path{1023};
  return {{path, LeaseRequest{.credit = 1 << 20, .id_leases = {1, 2}}},
          {path, grant},
          {path, LeaseReturn{77}},
          {path, ReceivedReport{.consumed = 1, .streams_closed = 2, .max_data = k_large}},
          {path, ClientHeard{}}};
}

TEST(LeaseMessages, ComeBackAsTheyWere) {
  for (const BackendMessage& message : one_of_each()) {
    const auto bytes = encode_backend_message(message);
    EXPECT_LT(bytes.size(), 100u);
    const auto decoded = decode_backend_message(bytes);
    ASSERT_TRUE(decoded);
    EXPECT_EQ(decoded->path, message.path);
    EXPECT_EQ(decoded->body.index(), message.body.index());
    EXPECT_EQ(encode_backend_message(*decoded), bytes);
  }
  const auto grant = decode_backend_message(encode_backend_message(one_of_each()[1]));
  EXPECT_EQ(std::get<LeaseGrant>(grant->body).ids[0].count, 16u);
  const auto report = decode_backend_message(encode_backend_message(one_of_each()[3]));
  EXPECT_EQ(std::get<ReceivedReport>(report->body).streams_closed, 2u);
}

TEST(LeaseMessages, AreRefusedWhenCutOrLonger) {
  for (const BackendMessage& message : one_of_each()) {
    auto bytes = encode_backend_message(message);
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      EXPECT_FALSE(decode_backend_message(Bytes(bytes).first(size))) << size;
    }
    bytes.push_back(0);
    const auto longer = decode_backend_message(bytes);
    ASSERT_FALSE(longer);
    EXPECT_EQ(longer.error(), BackendMessageFault::kMalformed);
  }
}

TEST(LeaseMessages, AreRefusedOfAnotherVersionOrType) {
  auto bytes = encode_backend_message({PathId{1}, ClientHeard{}});
  bytes[0] = 2;
  EXPECT_EQ(decode_backend_message(bytes).error(), BackendMessageFault::kUnknownVersion);
  bytes[0] = 1;
  for (const std::uint8_t type : std::to_array<std::uint8_t>({0, 6, 255})) {
    bytes.back() = type;
    EXPECT_EQ(decode_backend_message(bytes).error(), BackendMessageFault::kMalformed);
  }
}

TEST(LeaseMessages, AreRefusedWithStreamsThatCannotBe) {
  LeaseGrant grant;
  grant.ids[1] = {.first = std::uint64_t{1} << 60, .count = 1};  // RFC 9000 §4.6
  EXPECT_EQ(decode_backend_message(encode_backend_message({PathId{1}, grant})).error(),
            BackendMessageFault::kOutOfRange);
}

TEST(LeaseMessages, DamagedAtRandomAreRefusedOrReadAsSomething) {
  SeededRandom random(20);
  for (int round = 0; round < 20'000; ++round) {
    auto bytes = encode_backend_message(one_of_each()[random.below(5)]);
    for (std::uint64_t hits = 1 + random.below(3); hits > 0; --hits) {
      bytes[random.below(bytes.size())] = static_cast<std::uint8_t>(random.next());
    }
    if (const auto decoded = decode_backend_message(bytes)) {
      EXPECT_TRUE(decode_backend_message(encode_backend_message(*decoded)));
    }
  }
}

}  // namespace
}  // namespace sheaf::quic
