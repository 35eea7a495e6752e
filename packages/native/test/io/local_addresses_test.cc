#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <thread>

#include "crypto/test_certificates.h"
#include "endpoint/endpoint.h"
#include "io/endpoint_loop.h"
#include "io/ethernet_tap.h"
#include "io/monotonic_clock.h"
#include "io/socket_address.h"
#include "util/random.h"

namespace sheaf::io {
namespace {

using quic::Address;
using quic::PathId;

constexpr std::uint64_t k_body_size = 4 << 20;
constexpr quic::StreamId k_stream{0};

// An endpoint with its sockets. The server responds on each stream with `k_body_size` zeros.
class Host final : public EndpointLoop::Listener {
 public:
  Host(uv_loop_t* uv, const quic::EndpointConfig& config, quic::Random& random)
      : endpoint(config, random), loop(uv, endpoint, *this) {}

  void on_active(quic::ConnectionDriver& driver, quic::Time now) override {
    connection = &driver;
    while (const auto event = driver.poll_event(now)) {
      if (std::holds_alternative<quic::HandshakeConfirmedEvent>(*event)) confirmed = true;
      if (std::holds_alternative<quic::PathsAvailableEvent>(*event)) paths_available = true;
      if (const auto* path = std::get_if<quic::PathValidatedEvent>(&*event)) {
        validated.push_back(path->path);
      }
    }
    if (driver.connection().role() == quic::Role::kServer) return answer(driver.connection());
    while (const std::size_t size = driver.connection().streams().reader().peek(k_stream).size()) {
      received += size;
      static_cast<void>(driver.connection().streams().reader().consume(k_stream, size, now));
    }
  }
  void on_turn_end() override {}
  void on_removed(quic::ConnectionDriver&) override { connection = nullptr; }

  std::optional<quic::PathStats> path(PathId id) const {
    for (const quic::PathStats& stats : connection->connection().paths().stats()) {
      if (stats.id == id) return stats;
    }
    return std::nullopt;
  }

  quic::Endpoint endpoint;
  EndpointLoop loop;
  quic::ConnectionDriver* connection = nullptr;
  bool confirmed = false;
  bool paths_available = false;
  std::vector<PathId> validated;
  std::uint64_t received = 0;

 private:
  void answer(quic::Connection& server) {
    if (answered_ || server.streams().reader().peek(k_stream).empty()) return;
    answered_ = true;
    const std::vector<std::uint8_t> body(k_body_size);
    static_cast<void>(
        server.streams().writer().write(k_stream, quic::SendChunk::copy_of(body), true));
  }

  bool answered_ = false;
};

class LocalAddressesTest : public testing::Test {
 protected:
  void SetUp() override { start(); }
  void TearDown() override { stop(); }

  void start() {
    uv_loop_init(&uv_);
    uv_timer_init(&uv_, &limit_);
    const quic::TestCertificate certificate = quic::make_certificate();
    quic::EndpointConfig config;
    config.connection.path_scheduler = quic::PathSchedulerKind::kRoundRobin;
    client_ = std::make_unique<Host>(&uv_, config, random_);
    config.server_tls =
        *quic::make_tls_server_context({.certificate_pem = certificate.certificate_pem,
                                        .private_key_pem = certificate.private_key_pem,
                                        .alpn = {"test"},
                                        .secrets = {},
                                        .early_data = false});
    server_ = std::make_unique<Host>(&uv_, config, random_);
    ASSERT_TRUE(server_->loop.bind(*parse_address("0.0.0.0", 0), {}));
    ASSERT_TRUE(client_->loop.bind(*parse_address("127.0.0.1", 0), {}));
    remote_ = *parse_address("127.0.0.1", server_->loop.local_address().port);

    quic::ClientHandshakeConfig handshake;
    handshake.tls =
        *quic::make_tls_client_context({.alpn = {"test"},
                                        .certificate_authority_pem = certificate.authority_pem,
                                        .certificate_hashes = {},
                                        .insecure = false});
    handshake.server_name = "localhost";
    handshake.path = {client_->loop.local_address(), remote_};
    auto driver =
        client_->endpoint.connect(std::move(handshake), config.connection, monotonic_now());
    ASSERT_TRUE(driver);
    client_->connection = *driver;
    client_->loop.wake(**driver);
    ASSERT_TRUE(run_until([this] { return client_->confirmed && client_->paths_available; }));
  }

  void stop() {
    client_->loop.close({});
    server_->loop.close({});
    uv_close(reinterpret_cast<uv_handle_t*>(&limit_), nullptr);
    uv_run(&uv_, UV_RUN_DEFAULT);
    EXPECT_EQ(uv_loop_close(&uv_), 0);
  }

  bool run_until(const std::function<bool()>& reached) {
    uv_timer_start(
        &limit_, [](uv_timer_t*) {}, 60'000, 0);
    while (!reached() && uv_is_active(reinterpret_cast<uv_handle_t*>(&limit_))) {
      uv_run(&uv_, UV_RUN_ONCE);
    }
    uv_timer_stop(&limit_);
    return reached();
  }

  // Both sides have validated this path.
  std::optional<PathId> open_path(const Address& local) {
    const auto id =
        client_->connection->connection().paths().open({local, remote_}, monotonic_now());
    client_->loop.wake(*client_->connection);
    if (!id) return std::nullopt;
    const auto validated = [&](const Host& host) {
      return std::ranges::find(host.validated, *id) != host.validated.end();
    };
    return run_until([&] { return validated(*client_) && validated(*server_); })
               ? std::optional(*id)
               : std::nullopt;
  }
  Address add(const char* ip) {
    const auto bound = client_->loop.add_local_address(*parse_address(ip, 0));
    EXPECT_TRUE(bound) << bound.error().message;
    return bound ? *bound : Address{};
  }
  void request() {
    quic::Connection& client = client_->connection->connection();
    ASSERT_TRUE(client.streams().writer().open(quic::Directionality::kBidirectional));
    const std::uint8_t question = '?';
    ASSERT_TRUE(
        client.streams().writer().write(k_stream, quic::SendChunk::copy_of({&question, 1}), true));
    client_->loop.wake(*client_->connection);
  }
  bool complete() const { return client_->received == k_body_size; }

  uv_loop_t uv_;
  uv_timer_t limit_;
  quic::SeededRandom random_{1};
  std::unique_ptr<Host> client_;
  std::unique_ptr<Host> server_;
  Address remote_;
};

TEST_F(LocalAddressesTest, EachPathUsesTheSocketOfItsAddress) {
  const Address second = add("127.0.0.2");
  const Address third = add("127.0.0.3");
  ASSERT_NE(second.port, 0);
  const auto path_of_second = open_path(second);
  const auto path_of_third = open_path(third);
  ASSERT_TRUE(path_of_second && path_of_third);
  // Holds the addresses that the server sees: the source of the datagrams, and the address that
  // they reached.
  EXPECT_EQ(server_->path(*path_of_second)->addresses, (quic::AddressPair{remote_, second}));
  EXPECT_EQ(server_->path(*path_of_third)->addresses, (quic::AddressPair{remote_, third}));
  request();
  ASSERT_TRUE(run_until([this] { return complete(); }));
  for (const PathId id : {PathId{0}, *path_of_second, *path_of_third}) {
    EXPECT_GT(server_->path(id)->bytes_sent, k_body_size / 10) << "path " << id.value;
    EXPECT_GT(client_->path(id)->bytes_received, k_body_size / 10) << "path " << id.value;
  }
}

TEST_F(LocalAddressesTest, APathWhoseAddressIsRemovedStopsNoOther) {
  const Address first = client_->loop.local_address();
  const Address second = add("127.0.0.2");
  ASSERT_TRUE(open_path(second));
  request();
  ASSERT_TRUE(run_until([this] { return client_->received > k_body_size / 4; }));
  ASSERT_TRUE(client_->loop.remove_local_address(first));
  EXPECT_EQ(client_->loop.local_address(), second);
  EXPECT_TRUE(run_until([this] { return complete(); }));
}

TEST_F(LocalAddressesTest, TheSameAddressIsOneSocket) {
  const Address second = add("127.0.0.2");
  const auto again = client_->loop.add_local_address(second);
  ASSERT_TRUE(again);
  EXPECT_EQ(*again, second);
  EXPECT_TRUE(client_->loop.remove_local_address(second));
  EXPECT_FALSE(client_->loop.remove_local_address(second));
}

TEST_F(LocalAddressesTest, TheLastAddressStays) {
  EXPECT_FALSE(client_->loop.remove_local_address(client_->loop.local_address()));
}

TEST_F(LocalAddressesTest, AnAddressOfNobodyIsRefused) {
  // RFC 5737: an address for documentation only.
  const auto bound = client_->loop.add_local_address(*parse_address("192.0.2.1", 0));
  ASSERT_FALSE(bound);
  EXPECT_EQ(bound.error().number, EADDRNOTAVAIL);
  EXPECT_NE(bound.error().message.find("192.0.2.1"), std::string::npos);
}

// Runs in a separate network namespace, whose second interface loses its address.
class VanishingAddressTest : public LocalAddressesTest {
 protected:
  void SetUp() override {}
  void TearDown() override {}

  void go_on_without(std::string& missing) {
    EthernetTap tap;
    missing = tap.set_up();
    if (!missing.empty()) return;
    start();
    const auto id = open_path(add(k_tap_local));
    ASSERT_TRUE(id);
    request();
    ASSERT_TRUE(run_until([this] { return client_->received > k_body_size / 4; }));
    tap.set_address_present(false);
    EXPECT_TRUE(run_until([this] { return complete(); }));
    // An address that is gone cannot be bound.
    EXPECT_FALSE(client_->loop.add_local_address(*parse_address(k_tap_local, 0)));
    EXPECT_NE(client_->connection, nullptr);
    stop();
  }
};

TEST_F(VanishingAddressTest, IsNoMoreThanThatOfAPath) {
  std::string missing;
  std::thread([&] { go_on_without(missing); }).join();
  if (!missing.empty()) GTEST_SKIP() << missing;
}

}  // namespace
}  // namespace sheaf::io
