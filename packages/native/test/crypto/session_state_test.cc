#include "crypto/session_state.h"

#include <gtest/gtest.h>

namespace sheaf::quic {
namespace {

const SessionState k_state{.tls_session = std::vector<std::uint8_t>(300, 1),
                           .peer_parameters = {1, 2, 3},
                           .token = {},
                           .alpn = "h3",
                           .version = k_version_2};

TEST(SessionState, RoundTrip) {
  const auto parsed = parse_session_state(serialize(k_state));
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->tls_session, k_state.tls_session);
  EXPECT_EQ(parsed->peer_parameters, k_state.peer_parameters);
  EXPECT_EQ(parsed->token, k_state.token);
  EXPECT_EQ(parsed->alpn, k_state.alpn);
  EXPECT_EQ(parsed->version, k_state.version);
}

TEST(SessionState, EveryTruncationAndAnyTailIsRefused) {
  auto bytes = serialize(k_state);
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_FALSE(parse_session_state(Bytes(bytes).first(length))) << length;
  }
  bytes.push_back(0);
  EXPECT_FALSE(parse_session_state(bytes));
}

TEST(SessionState, UnknownFormatAndHugeFieldsAreRefused) {
  auto bytes = serialize(k_state);
  bytes[0] = 9;
  EXPECT_FALSE(parse_session_state(bytes));
  SessionState huge = k_state;
  huge.token.resize(70000);
  EXPECT_FALSE(parse_session_state(serialize(huge)));
}

}  // namespace
}  // namespace sheaf::quic
