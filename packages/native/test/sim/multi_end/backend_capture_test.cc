// Makes a real handshake with the primary, and captures what the client sends and receives:
// handshake packets go only to the primary.
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <sstream>

#include "crypto/test_certificates.h"
#include "multi_end/backends.h"
#include "multi_end/connection_snapshot.h"
#include "sim/addresses.h"
#include "sim/capture.h"
#include "sim/endpoint_host.h"
#include "sim/multi_end/backend_host.h"
#include "sim/multi_end/content.h"
#include "sim/pattern.h"
#include "sim/pcapng_reader.h"

namespace sheaf::quic {
namespace {

constexpr Address k_captured_client = ipv4({10, 0, 0, 1}, 50'000),
                  k_primary = ipv4({10, 0, 0, 2}, 443), k_backend = ipv4({10, 0, 0, 3}, 443);
constexpr std::uint64_t k_bytes = 100'000;

struct Tls {
  TestCertificate certificate = make_certificate();
  std::shared_ptr<TlsContext> server() const {
    TlsServerConfig config;
    config.certificate_pem = certificate.certificate_pem;
    config.private_key_pem = certificate.private_key_pem;
    config.alpn = {"test"};
    return *make_tls_server_context(config);
  }
  std::shared_ptr<TlsContext> client() const {
    TlsClientConfig config;
    config.alpn = {"test"};
    config.certificate_authority_pem = certificate.authority_pem;
    return *make_tls_client_context(config);
  }
};

class BackendCapture : public ::testing::TestWithParam<KeyMode> {
 protected:
  BackendCapture()
      : simulation_(3),
        capture_(captured_),
        client_({}, simulation_.random()),
        primary_(primary_config(), simulation_.random()),
        client_host_(client_),
        primary_host_(primary_),
        backend_(simulation_.random()) {
    simulation_.add_host("client", client_host_);
    simulation_.add_host("primary", primary_host_);
    simulation_.add_host("backend", backend_);
    simulation_.connect({"client", k_captured_client}, {"primary", k_primary}, {.delay = 11ms});
    simulation_.connect({"client", k_captured_client}, {"backend", k_backend}, {.delay = 1ms});
    simulation_.capture("client", capture_);
    backend_.on_event = [this](const Event& event, Time now) {
      const auto* stream = std::get_if<StreamEvent>(&event);
      if (stream && content_) content_->on_event(*stream, now);
    };
    primary_host_.on_event = [this](ConnectionDriver& driver, const Event& event, Time) {
      if (std::holds_alternative<EstablishedEvent>(event)) server_ = &driver;
    };
    client_host_.on_event = [this](ConnectionDriver&, const Event& event, Time now) {
      on_client_event(event, now);
    };
  }

  static ConnectionConfig connection_config() {
    ConnectionConfig config;
    offer_multi_end(config, static_cast<std::uint64_t>(GetParam()));
    return config;
  }
  EndpointConfig primary_config() const {
    EndpointConfig config;
    config.connection = connection_config();
    config.server_tls = tls_.server();
    return config;
  }

  void shake_hands() {
    ClientHandshakeConfig handshake;
    handshake.tls = tls_.client();
    handshake.server_name = "localhost";
    handshake.path = {k_captured_client, k_primary};
    driver_ = *client_.connect(std::move(handshake), connection_config(), simulation_.now());
    simulation_.run_for(300ms);
    ASSERT_TRUE(server_ && driver_->handshake_completed());
  }
  void hand_over() {
    auto seed = quic::hand_over(server_->connection(), BackendId{0}, k_backend,
                                {.credit = 1 << 20, .ids = {}});
    ASSERT_TRUE(seed);
    ASSERT_TRUE(backend_.import(encode_snapshot(*seed), connection_config(), simulation_.now()));
    content_ = std::make_unique<ContentServer>(*backend_.connection());
    ASSERT_TRUE(offer_backend(server_->connection(), BackendId{0}));
    primary_.wake(*server_, simulation_.now());
  }
  void on_client_event(const Event& event, Time now) {
    Connection& connection = driver_->connection();
    if (std::holds_alternative<BackendOfferedEvent>(event)) {
      EXPECT_TRUE(open_backend(connection, BackendId{0}, k_captured_client, now));
      client_.wake(*driver_, simulation_.now());
    }
    if (const auto* validated = std::get_if<PathValidatedEvent>(&event)) path_ = validated->path;
    const auto* stream = std::get_if<StreamEvent>(&event);
    if (!stream || stream->kind != StreamEvent::Kind::kReadable) return;
    StreamReader& reader = connection.streams().reader();
    for (Bytes bytes = reader.peek(stream->stream); !bytes.empty();
         bytes = reader.peek(stream->stream)) {
      EXPECT_TRUE(matches_pattern(bytes, received_));
      received_ += bytes.size();
      EXPECT_TRUE(reader.consume(stream->stream, bytes.size(), now));
    }
    client_.wake(*driver_, simulation_.now());
  }
  void ask() {
    Connection& connection = driver_->connection();
    const auto stream = connection.streams().writer().open(Directionality::kBidirectional);
    ASSERT_TRUE(stream && connection.paths().pin(*stream, *path_));
    const ContentRequest request{.length = k_bytes};
    ASSERT_TRUE(
        connection.streams().writer().write(*stream, SendChunk::copy_of(request.encode()), true));
    client_.wake(*driver_, simulation_.now());
  }

  struct Count {
    std::size_t long_headers = 0, short_headers = 0;
  };
  // Counts packets by the server's address, in both directions.
  std::map<std::uint8_t, Count> count() const {
    constexpr std::size_t k_source = 12, k_destination = 16, k_payload = 28;  // IPv4 and UDP
    std::map<std::uint8_t, Count> counts;
    for (const PcapngPacket& packet : PcapngReader(captured_.str()).read().packets) {
      const bool outbound = packet.flags == 2;
      const std::uint8_t server = packet.bytes[(outbound ? k_destination : k_source) + 3];
      const bool is_long = (packet.bytes[k_payload] & 0x80) != 0;
      ++(is_long ? counts[server].long_headers : counts[server].short_headers);
    }
    return counts;
  }

  Tls tls_;
  Simulation simulation_;
  std::ostringstream captured_;
  Capture capture_;
  Endpoint client_, primary_;
  EndpointHost client_host_, primary_host_;
  BackendHost backend_;
  std::unique_ptr<ContentServer> content_;
  ConnectionDriver* driver_ = nullptr;
  ConnectionDriver* server_ = nullptr;
  std::optional<PathId> path_;
  std::uint64_t received_ = 0;
};

TEST_P(BackendCapture, NoHandshakePacketGoesToABackend) {
  shake_hands();
  ASSERT_FALSE(HasFatalFailure());
  hand_over();
  ASSERT_FALSE(HasFatalFailure());
  simulation_.run_for(200ms);
  ASSERT_TRUE(path_);
  ask();
  ASSERT_FALSE(HasFatalFailure());
  ASSERT_EQ(simulation_.run_until([&] { return received_ == k_bytes; }, 10s),
            Simulation::Outcome::kReached);
  const auto counts = count();
  EXPECT_GE(counts.at(2).long_headers, 3u) << "the handshake with the primary";
  EXPECT_EQ(counts.at(3).long_headers, 0u);
  EXPECT_GT(counts.at(3).short_headers, k_bytes / 1500) << "and the response came from the backend";
  EXPECT_EQ(backend_.handshake_datagrams(), 0u);
}

INSTANTIATE_TEST_SUITE_P(Keys, BackendCapture,
                         ::testing::Values(KeyMode::kPerPath, KeyMode::kShared),
                         [](const auto& parameter) {
                           return parameter.param == KeyMode::kPerPath ? "PerPath" : "Shared";
                         });

}  // namespace
}  // namespace sheaf::quic
