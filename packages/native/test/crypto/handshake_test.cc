#include "crypto/handshake.h"

#include <gnutls/gnutls.h>
#include <gtest/gtest.h>

#include <map>

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

TEST(Handshake, OnlyAHandshakePacketValidatesTheClientsAddress) {
  HandshakeWorld whole(default_options(), 1);
  ASSERT_TRUE(whole.run());
  EXPECT_TRUE(whole.server.handshake->address_validated());
  // A client that receives nothing repeats its Initial.
  auto options = default_options();
  options.timeout = 5s;
  options.drop = [](bool to_server, int) { return !to_server; };
  HandshakeWorld deaf(options, 1);
  EXPECT_FALSE(deaf.run());
  EXPECT_GT(deaf.client_datagrams.size(), 1u);
  EXPECT_FALSE(deaf.server.handshake->address_validated());
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

TEST(Handshake, RetryValidatesTheAddress) {
  auto options = default_options();
  options.retry = true;
  HandshakeWorld world(options, 3);
  ASSERT_TRUE(world.run());
  EXPECT_TRUE(secrets_match(world));
  EXPECT_GE(world.sent[1], 3);  // Initial, Initial with token, Finished
}

TEST(Handshake, AddressTokenOfAnEarlierConnectionIsAccepted) {
  HandshakeWorld first(default_options(), 4);
  ASSERT_TRUE(first.run());
  auto options = default_options();
  options.session = first.session_state();
  options.accept_address_token = true;
  HandshakeWorld second(options, 5);
  ASSERT_TRUE(second.run());
  EXPECT_TRUE(second.address_validated);
  EXPECT_TRUE(secrets_match(second));
  // A token that the server does not know does no harm.
  options.accept_address_token = false;
  HandshakeWorld third(options, 6);
  ASSERT_TRUE(third.run());
  EXPECT_TRUE(secrets_match(third));
}

TEST(Handshake, ServerMayBeReachedInVersion2) {
  auto options = default_options();
  options.version = k_version_2;
  HandshakeWorld world(options, 6);
  ASSERT_TRUE(world.run());
  EXPECT_TRUE(secrets_match(world));
  EXPECT_EQ(world.client.handshake->version(), k_version_2);
  EXPECT_EQ(world.client.find(Kind::kSendSecret)->secret.version, k_version_2);
}

// RFC 9368 §2.3, in both directions and after a Retry.
TEST(Handshake, ServerSwitchesToTheVersionThatItPrefers) {
  for (const auto& [from, to] : {std::pair(k_version_1, k_version_2), {k_version_2, k_version_1}}) {
    for (const bool retry : {false, true}) {
      auto options = default_options();
      options.version = from;
      options.preferred_versions = {to, from};
      options.retry = retry;
      HandshakeWorld world(options, 7);
      ASSERT_TRUE(world.run());
      EXPECT_TRUE(secrets_match(world));
      EXPECT_EQ(world.client.handshake->version(), to);
      EXPECT_EQ(world.server.handshake->version(), to);
      EXPECT_EQ(world.server.find(Kind::kSendSecret)->secret.version, to);
    }
  }
}

TEST(Handshake, VersionNegotiationPacketNamesTheCommonVersion) {
  auto options = default_options();
  options.version = k_version_2;
  HandshakeWorld world(options, 8);
  // Emulates a server that speaks only version 1.
  options.drop = [&world](bool to_server, int number) {
    if (!to_server || number > 0) return false;
    const auto header = peek_datagram(world.client_datagrams.back(), 8);
    std::vector<std::uint8_t> packet{0xc0, 0, 0, 0, 0};
    const auto append = [&packet](Bytes id) {
      packet.push_back(static_cast<std::uint8_t>(id.size()));
      packet.insert(packet.end(), id.begin(), id.end());
    };
    append(header.source);
    append(header.destination);
    packet.insert(packet.end(), {0, 0, 0, 1});
    world.inject(false, packet);
    return true;
  };
  world = HandshakeWorld(options, 8);
  ASSERT_FALSE(world.run());
  const auto& failure = world.client.handshake->failure();
  ASSERT_TRUE(failure);
  EXPECT_TRUE(failure->version_mismatch);
  EXPECT_EQ(failure->common_version, k_version_1);

  // The client begins again. The server then shows that it speaks version 2 after all, so somebody
  // forged the packet (RFC 9368 §4).
  auto again = default_options();
  again.version = failure->common_version;
  again.original_version = k_version_2;
  HandshakeWorld second(again, 9);
  EXPECT_FALSE(second.run());
  ASSERT_TRUE(second.client.handshake->failure());
  EXPECT_EQ(second.client.handshake->failure()->code, TransportErrorCode::kVersionNegotiationError);
}

TEST(Handshake, HelloRetryRequestCostsOneRoundTrip) {
  HandshakeWorld plain(default_options(), 10);
  ASSERT_TRUE(plain.run());
  auto options = default_options();
  options.server_context = server_context();
  ASSERT_FALSE(options.server_context->set_priority(
      "NORMAL:-VERS-ALL:+VERS-TLS1.3:-CIPHER-ALL:+AES-128-GCM:-GROUP-ALL:+GROUP-SECP384R1:"
      "%DISABLE_TLS13_COMPAT_MODE"));
  HandshakeWorld world(options, 10);
  ASSERT_TRUE(world.run());
  EXPECT_TRUE(secrets_match(world));
  EXPECT_EQ(world.server.count(Kind::kPeerParameters), 1u);
  EXPECT_EQ(world.client.count(Kind::kPeerParameters), 1u);
  EXPECT_EQ(world.now - plain.now, 2 * HandshakeWorld::k_delay);
}

// The ClientHello needs more than one datagram, as with post-quantum key shares.
std::size_t g_filler = 0;
int send_filler(gnutls_session_t, gnutls_buffer_t out) {
  if (g_filler == 0) return 0;
  const std::vector<std::uint8_t> bytes(g_filler, 0xab);
  return gnutls_buffer_append_data(out, bytes.data(), bytes.size());
}

class LargeClientHello : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    const auto ignore = [](gnutls_session_t, const unsigned char*, std::size_t) { return 0; };
    ASSERT_EQ(gnutls_ext_register("filler", 0xfafa, GNUTLS_EXT_TLS, ignore, send_filler, nullptr,
                                  nullptr, nullptr),
              0);
  }
  void SetUp() override { g_filler = 2500; }
  void TearDown() override { g_filler = 0; }
};

TEST_F(LargeClientHello, Completes) {
  HandshakeWorld world(default_options(), 11);
  ASSERT_TRUE(world.run());
  EXPECT_TRUE(secrets_match(world));
  EXPECT_GE(world.sent[1], 4);
}

TEST_F(LargeClientHello, WithRetry) {
  auto options = default_options();
  options.retry = true;
  HandshakeWorld world(options, 12);
  ASSERT_TRUE(world.run());
  EXPECT_TRUE(secrets_match(world));
}

TEST_F(LargeClientHello, StartingOverDoesNotValidateTheAddress) {
  auto options = default_options();
  options.hold_first_datagram = true;
  options.timeout = 5s;
  options.drop = [](bool to_server, int) { return !to_server; };
  HandshakeWorld world(options, 13);
  EXPECT_FALSE(world.run());
  EXPECT_FALSE(world.server.handshake->address_validated());
}

TEST_F(LargeClientHello, TailBeforeHeadNeedsNoRetry) {
  auto options = default_options();
  options.hold_first_datagram = true;
  HandshakeWorld world(options, 13);
  ASSERT_TRUE(world.run());
  EXPECT_TRUE(secrets_match(world));
  // Nothing had to be repeated: the client sent its ClientHello and its Finished once.
  EXPECT_LE(world.now.time_since_epoch(), std::chrono::milliseconds(1100));
}

TEST(Handshake, KeyLogIsWrittenOnlyWhenAskedFor) {
  auto options = default_options();
  std::vector<std::string> lines;
  options.client_key_log = [&lines](std::string_view line) { lines.emplace_back(line); };
  HandshakeWorld world(options, 14);
  ASSERT_TRUE(world.run());
  std::map<std::string, std::string> secrets;
  for (const std::string& line : lines) {
    EXPECT_EQ(line.find('\n'), std::string::npos);
    secrets[line.substr(0, line.find(' '))] = line.substr(line.rfind(' ') + 1);
  }
  for (const char* label : {"CLIENT_HANDSHAKE_TRAFFIC_SECRET", "SERVER_HANDSHAKE_TRAFFIC_SECRET",
                            "CLIENT_TRAFFIC_SECRET_0", "SERVER_TRAFFIC_SECRET_0"}) {
    EXPECT_EQ(secrets.count(label), 1u) << label;
  }
  std::string expected;
  for (const std::uint8_t byte : world.client.find(Kind::kSendSecret)->secret.view()) {
    constexpr char digits[] = "0123456789abcdef";
    expected += {digits[byte >> 4], digits[byte & 15]};
  }
  EXPECT_EQ(secrets["CLIENT_TRAFFIC_SECRET_0"], expected);
}

TEST(Handshake, TransportParametersArriveOnBothSides) {
  auto options = default_options();
  options.server_parameters.preferred_address =
      PreferredAddress{.ipv4 = {192, 0, 2, 1},
                       .ipv4_port = 4433,
                       .id = ConnectionId(std::array<std::uint8_t, 8>{9, 9, 9, 9, 9, 9, 9, 9}),
                       .reset_token = {5}};
  HandshakeWorld world(options, 15);
  ASSERT_TRUE(world.run());
  const auto at_client =
      decode_transport_parameters(world.client.find(Kind::kPeerParameters)->data);
  const auto at_server =
      decode_transport_parameters(world.server.find(Kind::kPeerParameters)->data);
  ASSERT_TRUE(at_client);
  ASSERT_TRUE(at_server);
  const auto& sent = options.server_parameters;
  EXPECT_EQ(at_client->max_idle_timeout, sent.max_idle_timeout);
  EXPECT_EQ(at_client->initial_max_data, sent.initial_max_data);
  EXPECT_EQ(at_client->initial_max_streams_bidi, sent.initial_max_streams_bidi);
  EXPECT_EQ(at_client->max_datagram_frame_size, sent.max_datagram_frame_size);
  EXPECT_EQ(at_client->initial_max_path_id, sent.initial_max_path_id);
  EXPECT_EQ(at_client->stateless_reset_token, sent.stateless_reset_token);
  EXPECT_TRUE(at_client->grease_quic_bit);
  ASSERT_TRUE(at_client->preferred_address);
  EXPECT_EQ(at_client->preferred_address->ipv4_port, 4433);
  EXPECT_EQ(at_client->preferred_address->id, sent.preferred_address->id);
  EXPECT_FALSE(at_server->stateless_reset_token);
  EXPECT_EQ(at_server->initial_max_path_id, options.client_parameters.initial_max_path_id);
}

}  // namespace
}  // namespace sheaf::quic
