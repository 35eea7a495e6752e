#include "crypto/server_secrets.h"

#include <gtest/gtest.h>

#include "endpoint/transfer.h"

namespace sheaf::quic {
namespace {

// The server's response to a packet of the client is a stateless reset.
bool is_reset_by(EndpointPair& pair, ConnectionDriver& client) {
  client.connection().ping(pair.now);
  pair.wake(client);
  if (!pair.run_until([&] { return pair.closed(&client) != nullptr; }, 5s)) return false;
  return pair.closed(&client)->cause == ConnectionClosed::Cause::kStatelessReset;
}

// A server whose process is replaced by one with other secrets or the same
class ServerSecretsTest : public testing::Test {
 protected:
  static EndpointPair::Options options() {
    EndpointPair::Options options;
    options.secrets = {server_secret(1)};
    options.admission.retry = RetryPolicy::kAlways;
    return options;
  }
  ConnectionDriver& connected() {
    ConnectionDriver& client = pair.connect();
    EXPECT_TRUE(pair.run_until_confirmed());
    pair.run_for(1s);
    return client;
  }
  bool is_reset(ConnectionDriver& client) { return is_reset_by(pair, client); }

  bool lives(ConnectionDriver& client) {
    client.connection().ping(pair.now);
    pair.wake(client);
    pair.run_for(100ms);
    return pair.closed(&client) == nullptr;
  }

  EndpointPair pair{options()};
};

TEST_F(ServerSecretsTest, ClientsOfTheProcessBeforeGetResets) {
  ConnectionDriver& client = connected();
  pair.restart_server_with({server_secret(1)});
  EXPECT_TRUE(is_reset(client));
}

TEST_F(ServerSecretsTest, ResetsAreMadeWithTheSecretThatTheIdNames) {
  ConnectionDriver& client = connected();
  pair.restart_server_with({server_secret(2), server_secret(1)});
  EXPECT_TRUE(is_reset(client));
}

// A token of the wrong key would be noise for the client, and a way to draw tokens from the server.
TEST_F(ServerSecretsTest, NobodyIsResetWithASecretThatIsGone) {
  ConnectionDriver& client = connected();
  pair.restart_server_with({server_secret(2)});
  EXPECT_FALSE(is_reset(client));
  EXPECT_EQ(pair.server->stats().stateless_resets_sent, 0u);
}

// RFC 9000 §21.11: it would give away how to reset connections of another server.
TEST_F(ServerSecretsTest, AnotherServerWithTheSameSecretsCannotReset) {
  ConnectionDriver& client = connected();
  pair.move_server_to("another");
  EXPECT_FALSE(is_reset(client));
}

TEST_F(ServerSecretsTest, IdsThatFollowTheFirstNameTheirSecretToo) {
  ConnectionDriver& client = connected();
  for (int i = 0; i < 5; ++i) {
    client.connection().paths().rotate_connection_id();
    pair.wake(client);
    pair.run_for(100ms);
    ASSERT_TRUE(lives(client));
  }
  pair.restart_server_with({server_secret(2), server_secret(1)});
  EXPECT_TRUE(is_reset(client));
}

TEST_F(ServerSecretsTest, TicketsAndAddressTokensOutliveTheProcess) {
  ConnectionDriver& first = connected();
  EXPECT_EQ(pair.server->stats().retries_sent, 1u);
  pair.restart_server_with({server_secret(2), server_secret(1)});
  ConnectionDriver& second = pair.connect(first.session());
  pair.run_for(1s);
  EXPECT_TRUE(second.handshake_completed());
  EXPECT_TRUE(second.resumed());
  EXPECT_EQ(pair.server->stats().retries_sent, 0u);
}

TEST_F(ServerSecretsTest, NeitherOutlivesTheSecret) {
  ConnectionDriver& first = connected();
  pair.restart_server_with({server_secret(2)});
  ConnectionDriver& second = pair.connect(first.session());
  pair.run_for(1s);
  EXPECT_TRUE(second.handshake_completed());
  EXPECT_FALSE(second.resumed());
  EXPECT_EQ(pair.server->stats().retries_sent, 1u);
}

TEST_F(ServerSecretsTest, ARetryIsAnsweredAtTheNextProcess) {
  ConnectionDriver& client = pair.connect();
  ASSERT_TRUE(pair.run_until([&] { return pair.server->stats().retries_sent == 1; }));
  pair.restart_server_with({server_secret(1)});
  ASSERT_TRUE(pair.run_until([&] { return client.handshake_completed(); }, 1s));
  EXPECT_EQ(pair.server->stats().retries_sent, 0u);
}

// Secrets are renewed while the server runs.
TEST_F(ServerSecretsTest, ARunningServerTakesOthers) {
  ConnectionDriver& old = connected();
  pair.server->set_secrets({server_secret(2), server_secret(1)});
  ConnectionDriver& fresh = pair.connect();
  ASSERT_TRUE(pair.run_until([&] { return fresh.handshake_completed(); }, 1s));
  EXPECT_TRUE(lives(old));
  pair.restart_server_with({server_secret(3), server_secret(2)});
  EXPECT_TRUE(is_reset(fresh));
  EXPECT_FALSE(is_reset(old));
}

// A server behind a balancer that reads the ids
class ServerIdTest : public testing::TestWithParam<bool> {
 protected:
  static constexpr std::size_t k_server_id = 8;
  static RoutableIds::Server server(std::uint8_t value) {
    return {.id = std::vector<std::uint8_t>(k_server_id, value), .encrypted = GetParam()};
  }
  static EndpointPair::Options options() {
    EndpointPair::Options options;
    options.secrets = {server_secret(1)};
    options.admission.retry = RetryPolicy::kAlways;
    options.server = server(5);
    return options;
  }
  bool is_reset(ConnectionDriver& client) { return is_reset_by(pair, client); }

  EndpointPair pair{options()};
};

TEST_P(ServerIdTest, AConnectionLivesThroughRetryAndNewIds) {
  ConnectionDriver& client = pair.connect();
  ASSERT_TRUE(pair.run_until_confirmed());
  EXPECT_EQ(pair.server->stats().retries_sent, 1u);
  for (int i = 0; i < 5; ++i) {
    client.connection().paths().rotate_connection_id();
    client.connection().ping(pair.now);
    pair.wake(client);
    pair.run_for(200ms);
    ASSERT_EQ(pair.closed(&client), nullptr);
  }
}

TEST_P(ServerIdTest, ConnectionsLiveWhileSecretsAreRenewed) {
  ConnectionDriver& old = pair.connect();
  ASSERT_TRUE(pair.run_until_confirmed());
  pair.server->set_secrets({server_secret(2), server_secret(1)});
  ConnectionDriver& fresh = pair.connect();
  ASSERT_TRUE(pair.run_until([&] { return fresh.handshake_completed(); }, 1s));
  for (ConnectionDriver* client : {&old, &fresh}) {
    client->connection().ping(pair.now);
    pair.wake(*client);
    pair.run_for(200ms);
    EXPECT_EQ(pair.closed(client), nullptr);
  }
  pair.restart_server_with({server_secret(2), server_secret(1)});
  EXPECT_TRUE(is_reset(old));
  EXPECT_TRUE(is_reset(fresh));
}

// RFC 9000 §21.11: a server that resets connections of another is an oracle for reset tokens.
TEST_P(ServerIdTest, AnotherServerOfTheFleetDoesNotReset) {
  ConnectionDriver& client = pair.connect();
  ASSERT_TRUE(pair.run_until_confirmed());
  pair.replace_server_by(server(6));
  EXPECT_FALSE(is_reset(client));
  EXPECT_EQ(pair.server->stats().stateless_resets_sent, 0u);
}

// Listeners of one machine may live at the same time: an old one drains where another was opened.
TEST_P(ServerIdTest, AnotherListenerOfTheServerDoesNotReset) {
  ConnectionDriver& client = pair.connect();
  ASSERT_TRUE(pair.run_until_confirmed());
  pair.move_server_to("another");
  EXPECT_FALSE(is_reset(client));
}

// Says of all datagrams that their server is lost, and of its listener what it is called.
class LostServers final : public Placement {
 public:
  explicit LostServers(std::optional<std::string> scope = "") : scope_(std::move(scope)) {}
  std::optional<SteeringMark> mark() const override { return std::nullopt; }
  void add(const ConnectionId&, Source) override {}
  void remove(const ConnectionId&) override {}
  Owner pass_on(const Datagram&, const DatagramHeader&, Origin) override { return Owner::kLost; }
  std::optional<std::string> scope_of_lost(Bytes server_id) const override {
    EXPECT_EQ(server_id.size(), 8u);
    return scope_;
  }
  void ask_for_room(const std::optional<NetworkKey>&) override {}

 private:
  std::optional<std::string> scope_;
};

TEST_P(ServerIdTest, AnotherServerResetsForOneThatIsLost) {
  ConnectionDriver& client = pair.connect();
  ASSERT_TRUE(pair.run_until_confirmed());
  client.connection().paths().rotate_connection_id();
  pair.wake(client);
  pair.run_for(1s);
  pair.replace_server_by(server(6), std::make_shared<LostServers>());
  EXPECT_TRUE(is_reset(client));
}

TEST_P(ServerIdTest, AnotherServerResetsAsTheListenerThatIsLost) {
  ConnectionDriver& client = pair.connect();
  ASSERT_TRUE(pair.run_until_confirmed());
  pair.replace_server_by(server(6), std::make_shared<LostServers>("another"));
  EXPECT_FALSE(is_reset(client));
  pair.replace_server_by(server(6), std::make_shared<LostServers>(std::nullopt));
  EXPECT_FALSE(is_reset(client));
  EXPECT_EQ(pair.server->stats().stateless_resets_sent, 0u);
}

TEST_P(ServerIdTest, AnotherServerResetsWithTheSecretThatTheIdNames) {
  ConnectionDriver& client = pair.connect();
  ASSERT_TRUE(pair.run_until_confirmed());
  pair.run_for(1s);
  pair.replace_server_by(server(6), std::make_shared<LostServers>());
  pair.server->set_secrets({server_secret(2)});
  EXPECT_FALSE(is_reset(client));
  pair.server->set_secrets({server_secret(2), server_secret(1)});
  EXPECT_TRUE(is_reset(client));
}

// RFC 9000 §10.3: only packets with a short header are answered so. Retransmitted first packets are
// not.
TEST_P(ServerIdTest, PacketsOfAHandshakeWithOneThatIsLostGetNothing) {
  pair.replace_server_by(server(6), std::make_shared<LostServers>());
  ConnectionDriver& client = pair.connect();
  pair.run_for(2s);
  EXPECT_FALSE(client.handshake_completed());
  EXPECT_EQ(pair.server->stats().datagrams_sent, 0u);
  EXPECT_GT(pair.server->stats().datagrams_received, 0u);
}

INSTANTIATE_TEST_SUITE_P(PlainAndEncrypted, ServerIdTest, testing::Bool());

}  // namespace
}  // namespace sheaf::quic
