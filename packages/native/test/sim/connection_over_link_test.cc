#include <gtest/gtest.h>

#include "crypto/test_certificates.h"
#include "emulation/units.h"
#include "sim/endpoint_host.h"
#include "sim/host_address.h"
#include "sim/simulation.h"

namespace sheaf::quic {
namespace {

using Outcome = Simulation::Outcome;

const Address k_client = address(1, 50'000);
const Address k_server = address(2, 443);

// A client that sends bytes on one stream, and a server that reads them.
class ConnectionOverLinkTest : public ::testing::Test {
 protected:
  static constexpr std::uint64_t k_seed = 7;

  ConnectionOverLinkTest() : simulation_(k_seed) {
    const TestCertificate certificate = make_certificate();
    auto server_tls = make_tls_server_context({.certificate_pem = certificate.certificate_pem,
                                               .private_key_pem = certificate.private_key_pem,
                                               .alpn = {"test"},
                                               .secrets = {},
                                               .early_data = false});
    auto client_tls =
        make_tls_client_context({.alpn = {"test"},
                                 .certificate_authority_pem = certificate.authority_pem,
                                 .certificate_hashes = {},
                                 .insecure = false});
    EXPECT_TRUE(server_tls && client_tls);
    client_tls_ = *client_tls;
    EndpointConfig config;
    client_ = std::make_unique<Endpoint>(config, simulation_.random());
    config.server_tls = *server_tls;
    server_ = std::make_unique<Endpoint>(config, simulation_.random());
    client_host_ = std::make_unique<EndpointHost>(*client_);
    server_host_ = std::make_unique<EndpointHost>(*server_);
    simulation_.add_host("client", *client_host_);
    simulation_.add_host("server", *server_host_);
    client_host_->on_event = [this](ConnectionDriver&, const Event& event, Time now) {
      established_ |= std::holds_alternative<EstablishedEvent>(event);
      if (std::holds_alternative<DatagramReceivedEvent>(event)) {
        ++datagrams_received_;
        client_driver_->connection().ping(now);
      }
      note_backend(event);
    };
    server_host_->on_event = [this](ConnectionDriver& driver, const Event& event, Time now) {
      server_driver_ = &driver;
      note_backend(event);
      const auto* stream = std::get_if<StreamEvent>(&event);
      if (stream && stream->kind == StreamEvent::Kind::kReadable) read(driver, stream->stream, now);
    };
  }

  void connect(const LinkConfig& there, const LinkConfig& back) {
    path_ = &simulation_.connect({"client", k_client}, {"server", k_server}, there, back);
    ClientHandshakeConfig handshake;
    handshake.tls = client_tls_;
    handshake.server_name = "localhost";
    handshake.path = {k_client, k_server};
    auto driver = client_->connect(std::move(handshake), {}, simulation_.now());
    ASSERT_TRUE(driver);
    client_driver_ = *driver;
    ASSERT_EQ(simulation_.run_until([&] { return established_; }, 30s), Outcome::kReached);
  }
  void start_upload(std::size_t bytes) {
    const auto stream =
        client_driver_->connection().streams().writer().open(Directionality::kUnidirectional);
    ASSERT_TRUE(stream);
    const std::vector<std::uint8_t> content(bytes, 0x5a);
    ASSERT_TRUE(client_driver_->connection().streams().writer().write(
        *stream, SendChunk::copy_of(content), true));
    client_->wake(*client_driver_, simulation_.now());
    started_ = simulation_.now();
  }
  Outcome finish_upload(Duration limit) {
    const Outcome outcome =
        simulation_.run_until([&] { return finished_ || !end_.empty(); }, limit);
    EXPECT_EQ(end_, "");
    return outcome;
  }
  void read(ConnectionDriver& driver, StreamId stream, Time now) {
    std::array<std::uint8_t, 16384> buffer;
    for (;;) {
      const auto result = driver.connection().streams().reader().read(stream, buffer, now);
      if (!result) return;
      received_ += result->bytes;
      finished_ |= result->finished;
      if (result->bytes == 0 || result->finished) break;
    }
    server_->wake(driver, simulation_.now());
  }
  void note_backend(const Event& event) {
    if (const auto* closed = std::get_if<ConnectionClosed>(&event)) {
      end_ = "closed: " + std::to_string(closed->error) + " " + closed->reason;
    }
  }
  PathStats sender_stats() const { return client_driver_->connection().paths().stats().at(0); }
  double goodput() const {
    return static_cast<double>(received_) /
           std::chrono::duration<double>(simulation_.now() - started_).count();
  }

  ::testing::ScopedTrace trace_{__FILE__, __LINE__, "seed " + std::to_string(k_seed)};
  Simulation simulation_;
  std::shared_ptr<TlsContext> client_tls_;
  std::unique_ptr<Endpoint> client_, server_;
  std::unique_ptr<EndpointHost> client_host_, server_host_;
  NetworkPath* path_ = nullptr;
  ConnectionDriver* client_driver_ = nullptr;
  ConnectionDriver* server_driver_ = nullptr;
  Time started_{};
  std::uint64_t received_ = 0;
  int datagrams_received_ = 0;
  bool established_ = false;
  bool finished_ = false;
  std::string end_;
};

TEST_F(ConnectionOverLinkTest, FillsABottleneck) {
  connect({.queue_bytes = 100_kib, .rate = 20_mbps, .delay = 20ms}, {.delay = 20ms});
  start_upload(10'000'000);
  ASSERT_EQ(finish_upload(60s), Outcome::kReached);
  EXPECT_EQ(received_, 10'000'000u);
  EXPECT_GT(goodput(), 0.85 * 20_mbps);
}

TEST_F(ConnectionOverLinkTest, FindsTheMtuOfThePath) {
  connect({.mtu = 1390, .rate = 20_mbps, .delay = 10ms}, {.delay = 10ms});
  start_upload(1'000'000);
  ASSERT_EQ(finish_upload(60s), Outcome::kReached);
  EXPECT_LE(sender_stats().mtu, 1390);
  EXPECT_GT(sender_stats().mtu, 1370);
  // Lost probes are not congestion.
  EXPECT_GT(goodput(), 0.6 * 20_mbps);
}

TEST_F(ConnectionOverLinkTest, LeavesAnMtuBlackHole) {
  connect({.mtu = 1452, .rate = 20_mbps, .delay = 10ms}, {.delay = 10ms});
  start_upload(5'000'000);
  path_->there.change_at(simulation_.now() + 1s, {.mtu = 1250, .rate = 20_mbps, .delay = 10ms});
  ASSERT_EQ(simulation_.run_until([&] { return received_ > 1'000'000; }, 30s), Outcome::kReached);
  EXPECT_EQ(sender_stats().mtu, 1452);
  ASSERT_EQ(finish_upload(60s), Outcome::kReached);
  EXPECT_LE(sender_stats().mtu, 1250);
}

// --- jumbo frames -------------------------------------------------------------------------------

TEST_F(ConnectionOverLinkTest, JumboFramesCarryMuchDataOverAShortPath) {
  const LinkConfig link{.mtu = 8952, .queue_bytes = 4000_kib, .rate = 1000_mbps, .delay = 200us};
  connect(link, link);
  start_upload(8'000'000);
  ASSERT_EQ(finish_upload(10s), Outcome::kReached);
  EXPECT_EQ(sender_stats().mtu, 8952);
  EXPECT_EQ(sender_stats().packets_lost, 0u);
  EXPECT_LT(client_driver_->connection().datagrams().maximum_payload(), 1452u)
      << "datagrams may go on over other networks";
}

TEST_F(ConnectionOverLinkTest, AShortPathWithoutJumboFramesLosesThreeProbesAndNothingElse) {
  connect({.mtu = 1452, .queue_bytes = 4000_kib, .rate = 1000_mbps, .delay = 200us},
          {.delay = 200us});
  start_upload(8'000'000);
  ASSERT_EQ(finish_upload(10s), Outcome::kReached);
  EXPECT_GT(goodput(), 0.9 * 1000_mbps);
  simulation_.run_for(1s);
  EXPECT_EQ(sender_stats().mtu, 1452);
  EXPECT_EQ(path_->there.stats().too_large, 3u);
  EXPECT_EQ(sender_stats().packets_lost, 3u);
}

TEST_F(ConnectionOverLinkTest, JumboFramesAreNotTriedOverALongPath) {
  connect({.mtu = 1452, .rate = 100_mbps, .delay = 1ms}, {.delay = 1ms});
  start_upload(8'000'000);
  ASSERT_EQ(finish_upload(30s), Outcome::kReached);
  EXPECT_EQ(path_->there.stats().too_large, 0u);
}

TEST_F(ConnectionOverLinkTest, APathThatLosesItsJumboFramesGoesOnWithoutThem) {
  connect({.mtu = 8952, .rate = 100_mbps, .delay = 200us}, {.delay = 200us});
  start_upload(20'000'000);
  ASSERT_EQ(simulation_.run_until([&] { return received_ > 8'000'000; }, 30s), Outcome::kReached);
  EXPECT_EQ(sender_stats().mtu, 8952);
  path_->there.change_at(simulation_.now(), {.mtu = 1452, .rate = 100_mbps, .delay = 200us});
  ASSERT_EQ(finish_upload(30s), Outcome::kReached);
  EXPECT_EQ(received_, 20'000'000u);
  EXPECT_EQ(sender_stats().mtu, 1452);
  EXPECT_GT(goodput(), 0.7 * 100_mbps);
}

// Small packets still arrive and are acknowledged, so there is never a row of probe timeouts.
TEST_F(ConnectionOverLinkTest, SmallPacketsDoNotHideThatJumboFramesAreLost) {
  connect({.mtu = 8952, .rate = 100_mbps, .delay = 200us}, {.delay = 200us});
  start_upload(20'000'000);
  ASSERT_EQ(simulation_.run_until([&] { return received_ > 8'000'000; }, 30s), Outcome::kReached);
  path_->there.change_at(simulation_.now(), {.mtu = 1452, .rate = 100_mbps, .delay = 200us});
  // The client sends a PING for each, and receives the response.
  std::function<void()> talk = [&] {
    EXPECT_TRUE(server_driver_->connection().datagrams().send(std::array<std::uint8_t, 1>{7}, 0));
    server_->wake(*server_driver_, simulation_.now());
    simulation_.after(5ms, [&] { talk(); });
  };
  talk();
  ASSERT_EQ(finish_upload(30s), Outcome::kReached);
  EXPECT_EQ(received_, 20'000'000u);
  EXPECT_EQ(sender_stats().mtu, 1452);
}

TEST_F(ConnectionOverLinkTest, ObeysCongestionMarks) {
  connect({.queue_bytes = 1000_kib, .mark_bytes = 40_kib, .rate = 20_mbps, .delay = 20ms},
          {.delay = 20ms});
  start_upload(10'000'000);
  ASSERT_EQ(finish_upload(60s), Outcome::kReached);
  EXPECT_GT(path_->there.stats().marked, 0u);
  EXPECT_EQ(sender_stats().packets_lost, 0u);
  EXPECT_GT(goodput(), 0.8 * 20_mbps);
}

TEST_F(ConnectionOverLinkTest, SurvivesARebinding) {
  connect({.rate = 20_mbps, .delay = 20ms}, {.delay = 20ms});
  start_upload(5'000'000);
  const Address translated = address(1, 50'001);
  simulation_.after(500ms, [&] { simulation_.rebind(*path_, translated); });
  ASSERT_EQ(finish_upload(60s), Outcome::kReached);
  EXPECT_EQ(server_driver_->connection().paths().stats().at(0).addresses.remote, translated);
  EXPECT_TRUE(server_driver_->connection().paths().stats().at(0).validated);
}

TEST_F(ConnectionOverLinkTest, MigratesToAnotherPath) {
  const Address second = address(3, 50'002);
  connect({.rate = 20_mbps, .delay = 20ms}, {.delay = 20ms});
  simulation_.connect({"client", second}, {"server", k_server}, {.rate = 10_mbps, .delay = 50ms});
  start_upload(5'000'000);
  simulation_.after(500ms, [&] {
    // The former route is cut from now on.
    path_->there.change_at(simulation_.now(), {.loss = 1});
    path_->back.change_at(simulation_.now(), {.loss = 1});
    EXPECT_TRUE(client_driver_->connection().paths().migrate(second, simulation_.now()));
    client_->wake(*client_driver_, simulation_.now());
  });
  ASSERT_EQ(finish_upload(60s), Outcome::kReached);
  EXPECT_EQ(received_, 5'000'000u);
  EXPECT_EQ(server_driver_->connection().paths().stats().at(0).addresses.remote, second);
  EXPECT_GT(sender_stats().minimum_rtt, 90ms);
  EXPECT_GT(goodput(), 0.6 * 10_mbps);
}

TEST_F(ConnectionOverLinkTest, APingGoesOutBesideAnAcknowledgement) {
  connect({.delay = 10ms}, {.delay = 10ms});
  simulation_.run_for(1s);
  ASSERT_EQ(sender_stats().bytes_in_flight, 0u);
  ASSERT_TRUE(server_driver_->connection().datagrams().send(std::array<std::uint8_t, 1>{7}, 0));
  server_->wake(*server_driver_, simulation_.now());
  ASSERT_EQ(simulation_.run_until([&] { return datagrams_received_ > 0; }, 1s), Outcome::kReached);
  EXPECT_GT(sender_stats().bytes_in_flight, 0u);
}

TEST_F(ConnectionOverLinkTest, SurvivesABadNetwork) {
  const LinkConfig bad{.queue_bytes = 50_kib,
                       .rate = 10_mbps,
                       .loss = 0.05,
                       .duplication = 0.05,
                       .delay = 15ms,
                       .jitter = 5ms,
                       .reordering = 0.05,
                       .reordering_delay = 10ms};
  connect(bad, bad);
  start_upload(2'000'000);
  ASSERT_EQ(finish_upload(120s), Outcome::kReached);
  EXPECT_EQ(received_, 2'000'000u);
}

}  // namespace
}  // namespace sheaf::quic
