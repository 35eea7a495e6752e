#include "crypto/handshake.h"

#include <gtest/gtest.h>

#include "crypto/handshake_world.h"
#include "crypto/tls_context.h"

namespace sheaf::quic {
namespace {

using Kind = HandshakeEvent::Kind;

TEST(Handshake, CompletesAndReportsInOrder) {
  HandshakeWorld world(default_options(), 1);
  ASSERT_TRUE(world.run());
  EXPECT_TRUE(secrets_match(world));
  const auto kinds = [](const Peer& peer) {
    std::vector<Kind> result;
    for (const auto& event : peer.events) result.push_back(event.kind);
    return result;
  };
  EXPECT_EQ(kinds(world.server),
            (std::vector{Kind::kPeerParameters, Kind::kSendSecret, Kind::kReceiveSecret,
                         Kind::kCompleted, Kind::kTicket}));
  const auto client = kinds(world.client);
  EXPECT_EQ(client.front(), Kind::kPeerParameters);
  EXPECT_EQ(client.back(), Kind::kSessionTicket);
  EXPECT_EQ(world.client.count(Kind::kCompleted), 1u);
  EXPECT_EQ(world.client.handshake->alpn(), "h3");
  EXPECT_EQ(world.server.handshake->alpn(), "h3");
  EXPECT_EQ(world.client.handshake->version(), k_version_1);
  EXPECT_FALSE(world.client.handshake->resumed());
  EXPECT_FALSE(world.client.handshake->early_data_accepted());
  EXPECT_EQ(world.client.handshake->next_timeout(), k_never);
  EXPECT_EQ(world.largest_datagram, 1200u);
  EXPECT_NEAR(std::chrono::duration<double>(world.client.handshake->smoothed_rtt()).count(), 0.020,
              0.005);
}

TEST(Handshake, SecretsMatchForEverySuite) {
  const std::pair<const char*, CipherSuite> suites[] = {
      {"AES-128-GCM", CipherSuite::kAes128GcmSha256},
      {"AES-256-GCM", CipherSuite::kAes256GcmSha384},
      {"CHACHA20-POLY1305", CipherSuite::kChacha20Poly1305Sha256}};
  for (const auto& [name, suite] : suites) {
    SCOPED_TRACE(name);
    auto options = default_options();
    options.client_context = client_context();
    ASSERT_FALSE(options.client_context->set_priority(
        std::string("NORMAL:-VERS-ALL:+VERS-TLS1.3:-CIPHER-ALL:+") + name +
        ":%DISABLE_TLS13_COMPAT_MODE"));
    HandshakeWorld world(options, 2);
    ASSERT_TRUE(world.run());
    EXPECT_TRUE(secrets_match(world));
    EXPECT_EQ(world.client.handshake->suite(), suite);
    EXPECT_EQ(world.client.find(Kind::kSendSecret)->secret.length,
              suite == CipherSuite::kAes256GcmSha384 ? 48 : 32);
  }
}

}  // namespace
}  // namespace sheaf::quic
