#include <gtest/gtest.h>

#include "crypto/handshake_world.h"
#include "crypto/tls_context.h"

namespace sheaf::quic {
namespace {

std::uint64_t code_of(const Peer& peer) {
  if (!peer.handshake || !peer.handshake->failure()) return 0;
  return static_cast<std::uint64_t>(peer.handshake->failure()->code);
}

std::string reason_of(const Peer& peer) {
  if (!peer.handshake || !peer.handshake->failure()) return "";
  return peer.handshake->failure()->reason;
}

// One side finds an error, and the other learns of it by CONNECTION_CLOSE.
void expect_refusal(HandshakeWorld& world, bool by_server, std::uint64_t code,
                    const std::string& reason) {
  EXPECT_FALSE(world.run());
  const Peer& finder = by_server ? world.server : world.client;
  const Peer& other = by_server ? world.client : world.server;
  EXPECT_EQ(code_of(finder), code);
  EXPECT_NE(reason_of(finder).find(reason), std::string::npos) << reason_of(finder);
  EXPECT_EQ(code_of(other), code);
  ASSERT_TRUE(other.handshake && other.handshake->failure());
  EXPECT_TRUE(other.handshake->failure()->by_peer);
  // Nothing more is sent.
  std::vector<std::uint8_t> out(1200);
  EXPECT_EQ(world.client.handshake->transmit(out, world.now), 0u);
  EXPECT_EQ(world.server.handshake->transmit(out, world.now), 0u);
  EXPECT_EQ(world.client.handshake->next_timeout(), k_never);
}

TEST(HandshakeFailure, NoApplicationProtocolInCommon) {
  auto options = default_options();
  options.client_context = client_context({.alpn = {"other"}});
  HandshakeWorld world(options, 1);
  expect_refusal(world, true, 0x178, "no application protocol in common");
  EXPECT_NE(reason_of(world.client).find("no application protocol in common"), std::string::npos);
}

TEST(HandshakeFailure, ServerPicksTheProtocolThatItWantsMost) {
  auto options = default_options();
  options.client_context = client_context({.alpn = {"hq-interop", "h3"}});
  options.server_context = server_context({.alpn = {"h3", "hq-interop"}});
  HandshakeWorld world(options, 2);
  ASSERT_TRUE(world.run());
  EXPECT_EQ(world.client.handshake->alpn(), "h3");
}

TEST(HandshakeFailure, NoCipherSuiteInCommon) {
  auto options = default_options();
  options.client_context = client_context();
  ASSERT_FALSE(options.client_context->set_priority(
      "NORMAL:-VERS-ALL:+VERS-TLS1.3:-CIPHER-ALL:+AES-128-CCM:%DISABLE_TLS13_COMPAT_MODE"));
  HandshakeWorld world(options, 3);
  expect_refusal(world, true, 0x128, "no cipher suite in common");
}

TEST(HandshakeFailure, CertificateOfAnUnknownAuthority) {
  auto options = default_options();
  options.client_context =
      client_context({.certificate_authority_pem = make_certificate().authority_pem});
  HandshakeWorld world(options, 4);
  expect_refusal(world, false, 0x130, "unknown authority");
}

TEST(HandshakeFailure, CertificateOfAGivenAuthorityIsAccepted) {
  auto options = default_options();
  options.client_context =
      client_context({.certificate_authority_pem = shared_certificate().authority_pem});
  HandshakeWorld world(options, 5);
  EXPECT_TRUE(world.run());
}

TEST(HandshakeFailure, CertificateForAnotherName) {
  auto options = default_options();
  options.server_name = "example.org";
  options.client_context =
      client_context({.certificate_authority_pem = shared_certificate().authority_pem});
  HandshakeWorld world(options, 6);
  expect_refusal(world, false, 0x12a, "for another name");
}

TEST(HandshakeFailure, AddressAsServerName) {
  const TestCertificate made = make_certificate({.name = "127.0.0.1"});
  auto options = default_options();
  options.server_context = server_context(
      {.certificate_pem = made.certificate_pem, .private_key_pem = made.private_key_pem});
  options.client_context = client_context({.certificate_authority_pem = made.authority_pem});
  options.server_name = "127.0.0.1";
  HandshakeWorld right(options, 7);
  EXPECT_TRUE(right.run());
  options.server_name = "127.0.0.2";
  HandshakeWorld wrong(options, 8);
  expect_refusal(wrong, false, 0x12a, "for another name");
}

TEST(HandshakeFailure, CertificateOutsideItsTime) {
  for (const bool by_hash : {false, true}) {
    for (const bool expired : {false, true}) {
      const TestCertificate made = expired
                                       ? make_certificate({.begins_in = -7200, .ends_in = -3600})
                                       : make_certificate({.begins_in = 3600, .ends_in = 7200});
      auto options = default_options();
      options.server_context = server_context(
          {.certificate_pem = made.certificate_pem, .private_key_pem = made.private_key_pem});
      options.client_context =
          by_hash ? client_context({.certificate_hashes = {made.leaf_hash}})
                  : client_context({.certificate_authority_pem = made.authority_pem});
      HandshakeWorld world(options, 9);
      expect_refusal(world, false, 0x12d, expired ? "has expired" : "not valid yet");
    }
  }
}

TEST(HandshakeFailure, WrongHash) {
  auto options = default_options();
  std::array<std::uint8_t, 32> hash = shared_certificate().leaf_hash;
  hash[31] ^= 1;
  options.client_context = client_context({.certificate_hashes = {hash}});
  HandshakeWorld world(options, 10);
  expect_refusal(world, false, 0x12a, "expected hashes");
}

TEST(HandshakeFailure, WrongPublicKey) {
  auto options = default_options();
  options.client_context =
      client_context({.public_key_hashes = {shared_certificate().public_key_hash}});
  HandshakeWorld right(options, 12);
  EXPECT_TRUE(right.run());
  options.client_context =
      client_context({.public_key_hashes = {make_certificate().public_key_hash}});
  HandshakeWorld wrong(options, 13);
  expect_refusal(wrong, false, 0x12a, "expected hashes");
}

TEST(HandshakeFailure, InsecureClientTakesAnyCertificate) {
  auto options = default_options();
  options.client_context = client_context({.insecure = true});
  options.server_name = "";
  HandshakeWorld world(options, 11);
  EXPECT_TRUE(world.run());
}

TEST(HandshakeFailure, VerifyingClientNeedsAName) {
  auto context = client_context({.certificate_authority_pem = shared_certificate().authority_pem});
  SeededRandom random(1);
  ClientHandshakeConfig config;
  config.tls = context;
  config.source = ConnectionId(std::array<std::uint8_t, 8>{});
  const auto made = Handshake::make_client(config, random, Time{});
  ASSERT_FALSE(made);
  EXPECT_NE(made.error().reason.find("server name"), std::string::npos);
}

TEST(HandshakeFailure, BadTransportParameters) {
  // RFC 9000 §18.2: ack_delay_exponent above 20.
  auto options = default_options();
  options.client_parameters.ack_delay_exponent = 21;
  HandshakeWorld from_client(options, 12);
  expect_refusal(from_client, true, 0x08, "");

  options = default_options();
  options.server_parameters.ack_delay_exponent = 21;
  HandshakeWorld from_server(options, 13);
  expect_refusal(from_server, false, 0x08, "");
}

TEST(HandshakeFailure, NobodyAnswers) {
  auto options = default_options();
  options.drop = [](bool, int) { return true; };
  options.timeout = std::chrono::seconds(10);
  HandshakeWorld world(options, 14);
  EXPECT_FALSE(world.run());
  ASSERT_TRUE(world.client.handshake->failure());
  EXPECT_TRUE(world.client.handshake->failure()->timeout);
  EXPECT_EQ(world.now.time_since_epoch(), std::chrono::seconds(11));
  EXPECT_GE(world.sent[1], 4);  // probes
}

TEST(HandshakeFailure, ClosedFromOutside) {
  auto options = default_options();
  HandshakeWorld world(options, 15);
  // The server refuses as soon as it has read the ClientHello.
  options.drop = [&world](bool to_server, int) {
    if (!to_server && world.server.handshake && !world.server.handshake->failure()) {
      world.server.handshake->close(TransportErrorCode::kConnectionRefused, "busy\x1b", world.now);
      return true;
    }
    return false;
  };
  world = HandshakeWorld(options, 15);
  EXPECT_FALSE(world.run());
  EXPECT_EQ(code_of(world.client), 0x02u);
  // The peer's text is shown, but cannot control a terminal.
  EXPECT_NE(reason_of(world.client).find("busy?"), std::string::npos) << reason_of(world.client);
}

TEST(HandshakeFailure, RefusedWithoutAConnection) {
  auto options = default_options();
  HandshakeWorld world(options, 16);
  options.drop = [&world](bool to_server, int number) {
    if (!to_server || number > 0) return to_server;
    const auto initial = accept_initial(world.client_datagrams.back());
    std::vector<std::uint8_t> answer(1200);
    answer.resize(write_refusal(answer, {initial->version, initial->source, initial->destination}));
    EXPECT_GT(answer.size(), 0u);
    world.inject(false, answer);
    return true;
  };
  world = HandshakeWorld(options, 16);
  EXPECT_FALSE(world.run());
  EXPECT_EQ(code_of(world.client), 0x02u);
}

}  // namespace
}  // namespace sheaf::quic
