#include <gtest/gtest.h>

#include "crypto/handshake_world.h"
#include "crypto/server_secrets.h"
#include "crypto/tls_clock.h"
#include "crypto/tls_context.h"
#include "crypto/tls_renewal.h"

namespace sheaf::quic {
namespace {

using Kind = HandshakeEvent::Kind;

// Returns what a client keeps of a first connection with these options.
SessionState remember(const HandshakeWorld::Options& options, std::uint64_t seed) {
  HandshakeWorld world(options, seed);
  EXPECT_TRUE(world.run());
  return world.session_state();
}

// Each test has its own contexts, since each context records the 0-RTT that it has seen.
HandshakeWorld::Options fresh_options(bool early_data = true) {
  auto options = default_options();
  options.server_context = server_context({.early_data = early_data});
  return options;
}

bool early_secrets_match(const HandshakeWorld& world) {
  const auto* client = world.client.find(Kind::kEarlySecret);
  const auto* server = world.server.find(Kind::kEarlySecret);
  return client != nullptr && server != nullptr &&
         std::ranges::equal(client->secret.view(), server->secret.view());
}

// A client whose key shares are of groups that the server does not take any more, so that it asks
// for another ClientHello.
void change_groups(HandshakeWorld::Options& options) {
  const std::string common =
      "NORMAL:-VERS-ALL:+VERS-TLS1.3:-CIPHER-ALL:+AES-128-GCM:+AES-256-GCM:"
      "%DISABLE_TLS13_COMPAT_MODE:-GROUP-ALL";
  ASSERT_FALSE(options.server_context->set_priority(common + ":+GROUP-SECP256R1"));
  options.client_context = client_context();
  ASSERT_FALSE(options.client_context->set_priority(
      common + ":+GROUP-X448:+GROUP-SECP384R1:+GROUP-SECP256R1"));
}

TEST(HandshakeResumption, ResumesWithEarlyData) {
  auto options = fresh_options();
  const SessionState stored = remember(options, 1);
  ASSERT_FALSE(stored.tls_session.empty());
  options.session = parse_session_state(serialize(stored));
  ASSERT_TRUE(options.session);
  HandshakeWorld world(options, 2);
  ASSERT_TRUE(world.run());
  EXPECT_TRUE(secrets_match(world));
  EXPECT_TRUE(early_secrets_match(world));
  for (const Peer* peer : {&world.client, &world.server}) {
    EXPECT_TRUE(peer->handshake->resumed());
    EXPECT_TRUE(peer->handshake->early_data_accepted());
    EXPECT_EQ(peer->handshake->alpn(), "h3");
  }
  EXPECT_TRUE(world.early_secret_at_once);
}

TEST(HandshakeResumption, ReplayedHelloGetsNoEarlyData) {
  auto options = fresh_options();
  options.session = remember(options, 3);
  HandshakeWorld world(options, 4);
  ASSERT_TRUE(world.run());
  ASSERT_TRUE(world.client.handshake->early_data_accepted());

  // Sends the same datagram to the same server, as if it came from another attempt.
  HandshakeWorld attacked(options, 5);
  attacked.deliver(true, world.client_datagrams.front());
  ASSERT_TRUE(attacked.server.handshake);
  attacked.server.poll();
  EXPECT_FALSE(attacked.server.handshake->failure());
  EXPECT_EQ(attacked.server.find(Kind::kEarlySecret), nullptr);
  EXPECT_NE(attacked.server.find(Kind::kSendSecret), nullptr);
  EXPECT_EQ(attacked.server.handshake->alpn(), "h3");  // 0.5-RTT needs it
}

// RFC 8446 §8.3: some clients count whole seconds, or have a clock that is a little fast or slow.
TEST(HandshakeResumption, TheClientsIdeaOfTheTicketsAgeMayBeOffBySeconds) {
  auto options = default_options();
  {
    const TlsClockShift a_minute_ago(-60s);
    options = fresh_options();
    const TlsClockShift later(30s);
    options.session = remember(options, 30);
  }
  std::uint64_t seed = 31;
  for (const Duration off :
       {-10000ms, -2000ms, -1500ms, -999ms, -1ms, 0ms, 1ms, 999ms, 1000ms, 1999ms, 9000ms}) {
    options.client_clock = off;
    HandshakeWorld world(options, seed++);
    ASSERT_TRUE(world.run());
    EXPECT_TRUE(world.client.handshake->resumed()) << off.count();
    EXPECT_TRUE(world.client.handshake->early_data_accepted()) << off.count();

    HandshakeWorld replayed(options, seed++);
    replayed.deliver(true, world.client_datagrams.front());
    replayed.server.poll();
    EXPECT_EQ(replayed.server.find(Kind::kEarlySecret), nullptr) << off.count();
    EXPECT_NE(replayed.server.find(Kind::kSendSecret), nullptr) << off.count();
  }
  // A ticket that seems older than it can be is not accepted for 0-RTT.
  options.client_clock = 12s;
  HandshakeWorld world(options, seed);
  ASSERT_TRUE(world.run());
  EXPECT_TRUE(world.client.handshake->resumed());
  EXPECT_FALSE(world.client.handshake->early_data_accepted());
}

// GnuTLS starts a new record every six hours, and refuses all tickets from before then.
TEST(HandshakeResumption, TicketsOutliveTheRecordThatTheyBeganWith) {
  const TlsClockShift a_day_ago(-24h);
  auto options = fresh_options();
  std::uint64_t seed = 60;
  for (int hours = 0; hours < 15; hours += 2) {
    SCOPED_TRACE(hours);
    const TlsClockShift later(hours * 1h + 50min);
    const SessionState tickets[] = {remember(options, seed++), remember(options, seed++)};
    const TlsClockShift much_later(1h);
    for (const SessionState& ticket : tickets) {
      auto again = options;
      again.session = ticket;
      HandshakeWorld world(again, seed++);
      ASSERT_TRUE(world.run());
      EXPECT_TRUE(world.client.handshake->early_data_accepted());

      for (const Duration after : {0h, 4h}) {
        const TlsClockShift a_while(after);
        HandshakeWorld replayed(again, seed++);
        auto hello = world.client_datagrams.front();
        replayed.deliver(true, hello);
        replayed.server.poll();
        EXPECT_EQ(replayed.server.find(Kind::kEarlySecret), nullptr);
        EXPECT_NE(replayed.server.find(Kind::kSendSecret), nullptr);
      }
    }
  }
}

TEST(HandshakeResumption, TicketsOutliveTheCertificate) {
  auto options = fresh_options();
  const SessionState used = remember(options, 90);
  const SessionState unused = remember(options, 91);
  options.session = used;
  HandshakeWorld before(options, 92);
  ASSERT_TRUE(before.run());
  ASSERT_TRUE(before.client.handshake->early_data_accepted());

  const TestCertificate renewed = make_certificate();
  auto made = renew_tls_server_context({.certificate_pem = renewed.certificate_pem,
                                        .private_key_pem = renewed.private_key_pem,
                                        .alpn = {"h3"}},
                                       *options.server_context);
  ASSERT_TRUE(made) << made.error();
  options.server_context = *made;
  options.session = unused;
  HandshakeWorld after(options, 93);
  ASSERT_TRUE(after.run());
  EXPECT_TRUE(after.client.handshake->resumed());
  EXPECT_TRUE(after.client.handshake->early_data_accepted());

  // A ClientHello that was seen under the former certificate still counts as seen.
  HandshakeWorld replayed(options, 94);
  replayed.deliver(true, before.client_datagrams.front());
  replayed.server.poll();
  EXPECT_EQ(replayed.server.find(Kind::kEarlySecret), nullptr);
  EXPECT_NE(replayed.server.find(Kind::kSendSecret), nullptr);

  // A client without a ticket gets the new certificate.
  options.session.reset();
  options.client_context = client_context({.certificate_hashes = {renewed.leaf_hash}});
  HandshakeWorld fresh(options, 95);
  ASSERT_TRUE(fresh.run());
  EXPECT_FALSE(fresh.client.handshake->resumed());
}

TEST(HandshakeResumption, TicketMayBeUsedForTwoHellos) {
  auto options = fresh_options();
  options.session = remember(options, 6);
  for (const std::uint64_t seed : {7, 8}) {
    HandshakeWorld world(options, seed);
    ASSERT_TRUE(world.run());
    EXPECT_TRUE(world.client.handshake->early_data_accepted()) << seed;
  }
}

// Each connection may have its own ticket (RFC 8446 §C.4), even when TLS has read one before.
TEST(HandshakeResumption, ResumedConnectionGetsAnotherTicket) {
  auto options = fresh_options();
  options.session = remember(options, 40);
  const SessionState second = remember(options, 41);
  ASSERT_FALSE(second.tls_session.empty());
  EXPECT_NE(second.tls_session, options.session->tls_session);
  options.session = second;
  HandshakeWorld world(options, 42);
  ASSERT_TRUE(world.run());
  EXPECT_TRUE(world.client.handshake->resumed());
  EXPECT_TRUE(world.client.handshake->early_data_accepted());
}

// The keys of tickets live for six hours, and open tickets for six more (crypto/ticket_keys.h).
TEST(HandshakeResumption, TicketsOutliveTheKeysThatNewOnesGet) {
  const TlsClockShift a_day_ago(-24h);
  auto options = fresh_options();
  SessionState tickets[3];
  {
    const TlsClockShift later(5h);
    for (SessionState& ticket : tickets) ticket = remember(options, 400);
  }
  const TlsClockShift much_later(7h);
  const SessionState with_new_keys = remember(options, 401);
  std::uint64_t seed = 402;
  for (const SessionState& ticket : {tickets[0], with_new_keys}) {
    options.session = ticket;
    HandshakeWorld world(options, seed++);
    ASSERT_TRUE(world.run());
    EXPECT_TRUE(world.client.handshake->resumed());
    EXPECT_TRUE(world.client.handshake->early_data_accepted());

    // What it has seen is known, whatever the keys are.
    HandshakeWorld replayed(options, seed++);
    replayed.deliver(true, world.client_datagrams.front());
    replayed.server.poll();
    EXPECT_EQ(replayed.server.find(Kind::kEarlySecret), nullptr);
    EXPECT_NE(replayed.server.find(Kind::kSendSecret), nullptr);

    // A resumed connection gets a ticket, too.
    options.session = world.session_state();
    HandshakeWorld next(options, seed++);
    ASSERT_TRUE(next.run());
    EXPECT_TRUE(next.client.handshake->early_data_accepted());
  }
  // An old ticket also survives a HelloRetryRequest.
  options.session = tickets[1];
  change_groups(options);
  HandshakeWorld retried(options, seed++);
  ASSERT_TRUE(retried.run());
  EXPECT_TRUE(retried.client.handshake->resumed());
}

TEST(HandshakeResumption, TicketThatCannotBeReadIsReplaced) {
  auto options = fresh_options();
  options.session = remember(options, 43);
  options.server_context = server_context();
  options.session = remember(options, 44);
  ASSERT_FALSE(options.session->tls_session.empty());
  HandshakeWorld world(options, 45);
  ASSERT_TRUE(world.run());
  EXPECT_TRUE(world.client.handshake->resumed());
}

TEST(HandshakeResumption, ResumesAfterAHelloRetryRequest) {
  auto options = fresh_options(false);
  options.session = remember(options, 46);
  change_groups(options);
  HandshakeWorld world(options, 47);
  ASSERT_TRUE(world.run());
  EXPECT_TRUE(secrets_match(world));
  EXPECT_TRUE(world.client.handshake->resumed());
  EXPECT_TRUE(world.server.handshake->resumed());
}

// RFC 8446 §4.2.10 and §4.1.2: the second ClientHello must not offer 0-RTT again. GnuTLS would
// offer it, and has no key slot left then, so the client begins again with another connection.
TEST(HandshakeResumption, NoEarlyDataAroundAHelloRetryRequest) {
  auto options = fresh_options();
  options.session = remember(options, 48);
  change_groups(options);
  HandshakeWorld world(options, 49);
  ASSERT_TRUE(world.run());
  EXPECT_NE(world.client.find(Kind::kEarlySecret), nullptr);
  EXPECT_EQ(world.client.count(Kind::kEarlyRejected), 1u);
  ASSERT_TRUE(world.former_server.handshake);
  EXPECT_EQ(world.former_server.find(Kind::kEarlySecret), nullptr);

  EXPECT_EQ(world.server.find(Kind::kEarlySecret), nullptr);
  EXPECT_NE(world.server.find(Kind::kSendSecret), nullptr);
  EXPECT_TRUE(secrets_match(world));
  EXPECT_TRUE(world.client.handshake->resumed());
  EXPECT_FALSE(world.client.handshake->early_data_accepted());

  // The ticket is as valid as before.
  options.client_context = client_context();
  HandshakeWorld next(options, 50);
  ASSERT_TRUE(next.run());
  EXPECT_TRUE(next.client.handshake->early_data_accepted());
}

TEST(HandshakeResumption, ServerWithoutEarlyDataResumes) {
  auto options = fresh_options(false);
  options.session = remember(options, 9);
  HandshakeWorld world(options, 10);
  ASSERT_TRUE(world.run());
  EXPECT_TRUE(world.client.handshake->resumed());
  EXPECT_EQ(world.client.find(Kind::kEarlySecret), nullptr);
  EXPECT_FALSE(world.client.handshake->early_data_accepted());
}

TEST(HandshakeResumption, SecretsOutliveTheContext) {
  auto options = default_options();
  options.server_context = server_context({.secrets = {server_secret(1)}});
  options.session = remember(options, 11);
  // The secret that sealed the ticket is no longer the first one.
  options.server_context = server_context({.secrets = {server_secret(2), server_secret(1)}});
  HandshakeWorld world(options, 12);
  ASSERT_TRUE(world.run());
  EXPECT_TRUE(world.client.handshake->resumed());
  // The new context cannot know whether this ClientHello was seen before.
  EXPECT_FALSE(world.client.handshake->early_data_accepted());
  EXPECT_NE(world.client.find(Kind::kEarlySecret), nullptr);
  EXPECT_EQ(world.server.find(Kind::kEarlySecret), nullptr);
}

TEST(HandshakeResumption, AnotherSecretMeansFullHandshake) {
  auto options = default_options();
  options.server_context = server_context({.secrets = {server_secret(1)}});
  options.session = remember(options, 11);
  options.server_context = server_context({.secrets = {server_secret(2)}});
  HandshakeWorld world(options, 12);
  ASSERT_TRUE(world.run());
  EXPECT_FALSE(world.client.handshake->resumed());
}

// Keys that are derived change with the clock, and those of the period before open their tickets.
TEST(HandshakeResumption, ATicketSurvivesThePeriodOfItsKey) {
  if (!tls_clock_can_shift()) GTEST_SKIP() << "GnuTLS exports no function to shift its clock";
  auto options = default_options();
  options.server_context = server_context({.secrets = {server_secret(1)}});
  const auto now = tls_clock_now();
  const auto to_next_period = TicketKeys::k_lifetime - now % TicketKeys::k_lifetime;
  const TlsClockShift late_in_the_period(to_next_period - std::chrono::minutes(1));
  options.session = remember(options, 11);
  const TlsClockShift early_in_the_next(std::chrono::minutes(2));
  options.server_context = server_context({.secrets = {server_secret(1)}});
  HandshakeWorld world(options, 12);
  ASSERT_TRUE(world.run());
  EXPECT_TRUE(world.client.handshake->resumed());
}

TEST(HandshakeResumption, OtherRandomKeysMeanFullHandshake) {
  auto options = fresh_options();
  options.session = remember(options, 13);
  options.server_context = server_context();
  HandshakeWorld world(options, 14);
  ASSERT_TRUE(world.run());
  EXPECT_FALSE(world.client.handshake->resumed());
  EXPECT_TRUE(secrets_match(world));
}

// RFC 9000 §7.4.1: 0-RTT under the old limits would exceed the new ones.
TEST(HandshakeResumption, ChangedLimitsMeanFullHandshake) {
  auto options = fresh_options();
  options.session = remember(options, 15);
  options.server_parameters.initial_max_data /= 2;
  HandshakeWorld world(options, 16);
  ASSERT_TRUE(world.run());
  EXPECT_FALSE(world.client.handshake->resumed());
  EXPECT_FALSE(world.client.handshake->early_data_accepted());
}

// RFC 9369 §5.
TEST(HandshakeResumption, TicketBelongsToItsVersion) {
  auto options = fresh_options();
  const SessionState stored = remember(options, 17);
  options.version = k_version_2;
  options.session = stored;
  HandshakeWorld client_knows(options, 18);
  ASSERT_TRUE(client_knows.run());
  EXPECT_FALSE(client_knows.client.handshake->resumed());
  EXPECT_EQ(client_knows.client.find(Kind::kEarlySecret), nullptr);

  options.session->version = k_version_2;  // a client that does not care
  HandshakeWorld server_knows(options, 19);
  ASSERT_TRUE(server_knows.run());
  EXPECT_FALSE(server_knows.client.handshake->resumed());
}

TEST(HandshakeResumption, TicketOfASwitchedConnectionIsForTheNewVersion) {
  auto options = fresh_options();
  options.preferred_versions = {k_version_2, k_version_1};
  options.session = remember(options, 20);
  EXPECT_EQ(options.session->version, k_version_2);
  options.version = k_version_2;
  HandshakeWorld world(options, 21);
  ASSERT_TRUE(world.run());
  EXPECT_TRUE(world.client.handshake->early_data_accepted());
  EXPECT_TRUE(early_secrets_match(world));
}

TEST(HandshakeResumption, RetryKeepsEarlyData) {
  auto options = fresh_options();
  options.session = remember(options, 22);
  options.session->token.clear();
  options.retry = true;
  HandshakeWorld world(options, 23);
  ASSERT_TRUE(world.run());
  EXPECT_TRUE(world.client.handshake->resumed());
  EXPECT_TRUE(secrets_match(world));
  EXPECT_TRUE(early_secrets_match(world));
}

TEST(HandshakeResumption, WorksUnderLoss) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    auto options = fresh_options();
    options.session = remember(options, seed);
    auto loss = std::make_shared<SeededRandom>(seed);
    options.drop = [loss](bool, int) { return loss->uniform() < 0.3; };
    HandshakeWorld world(options, seed);
    ASSERT_TRUE(world.run());
    EXPECT_TRUE(world.client.handshake->resumed());
    EXPECT_TRUE(secrets_match(world));
    EXPECT_EQ(world.client.handshake->early_data_accepted(),
              world.server.handshake->early_data_accepted());
  }
}

TEST(HandshakeResumption, PostHandshakeMessagesMayComeInPieces) {
  auto options = fresh_options();
  HandshakeWorld world(options, 24);
  ASSERT_TRUE(world.run());
  const auto& ticket = world.server.find(Kind::kTicket)->data;
  const std::size_t before = world.client.count(Kind::kSessionTicket);
  for (const std::uint8_t byte : ticket) {
    ASSERT_TRUE(world.client.handshake->receive_post_handshake({&byte, 1}));
  }
  world.client.poll();
  EXPECT_EQ(world.client.count(Kind::kSessionTicket), before + 1);
}

TEST(HandshakeResumption, OnlyTicketsMayFollowTheHandshake) {
  const std::pair<std::vector<std::uint8_t>, std::uint64_t> messages[] = {
      {{24, 0, 0, 1, 0}, 0x10a},      // KeyUpdate: unexpected_message
      {{13, 0, 0, 0}, 0x10a},         // CertificateRequest
      {{4, 0xff, 0xff, 0xff}, 0x0d},  // too long to be buffered
      {{4, 0, 0, 2, 1, 2}, 0x132},    // damaged ticket: decode_error
  };
  for (const auto& [message, code] : messages) {
    HandshakeWorld world(fresh_options(), 25);
    ASSERT_TRUE(world.run());
    const TransportStatus status = world.client.handshake->receive_post_handshake(message);
    ASSERT_FALSE(status) << int{message[0]};
    EXPECT_EQ(static_cast<std::uint64_t>(status.error().code), code) << int{message[0]};
  }
}

TEST(HandshakeResumption, UnreadableTicketCostsOnlyTheResumption) {
  auto options = fresh_options();
  options.session = SessionState{.tls_session = {1, 2, 3}, .alpn = "h3"};
  HandshakeWorld world(options, 26);
  ASSERT_TRUE(world.run());
  EXPECT_FALSE(world.client.handshake->resumed());
}

}  // namespace
}  // namespace sheaf::quic
