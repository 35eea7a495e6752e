#include <gtest/gtest.h>
#include <malloc.h>

#include <atomic>

#include "connection/connection_ids.h"
#include "crypto/test_certificates.h"
#include "endpoint/endpoint.h"
#include "util/address_sanitizer.h"

#if defined(SHEAF_ADDRESS_SANITIZER)
// Declared in <sanitizer/allocator_interface.h>, which GCC does not install.
extern "C" int __sanitizer_install_malloc_and_free_hooks(void (*on_malloc)(const volatile void*,
                                                                           std::size_t),
                                                         void (*on_free)(const volatile void*));
extern "C" std::size_t __sanitizer_get_allocated_size(const volatile void* pointer);
#endif

namespace sheaf::quic {
namespace {

// Returns the bytes in use on the heap. AddressSanitizer's allocator delays freeing memory and
// surrounds every block, so the sizes asked for are counted there.
#if defined(SHEAF_ADDRESS_SANITIZER)
std::atomic<std::int64_t> g_live_bytes = 0;

void count_from_now_on() {
  static const int installed = __sanitizer_install_malloc_and_free_hooks(
      [](const volatile void*, std::size_t size) {
        g_live_bytes += static_cast<std::int64_t>(size);
      },
      [](const volatile void* pointer) {
        if (pointer == nullptr) return;
        g_live_bytes -= static_cast<std::int64_t>(__sanitizer_get_allocated_size(pointer));
      });
  ASSERT_GT(installed, 0);
}
std::int64_t live_bytes() { return g_live_bytes; }
#else
void count_from_now_on() {}
std::int64_t live_bytes() {
  const struct mallinfo2 info = mallinfo2();
  return static_cast<std::int64_t>(info.uordblks + info.hblkhd);
}
#endif

AddressPair path_of(std::uint32_t client) {
  AddressPair pair;
  pair.local.family = pair.remote.family = Address::Family::kIpv4;
  pair.local.ip = {10, 0, 0, 1};
  pair.local.port = 443;
  pair.remote.ip = {10, 1, static_cast<std::uint8_t>(client >> 8),
                    static_cast<std::uint8_t>(client)};
  pair.remote.port = 40000;
  return pair;
}

class HalfOpenMemory : public testing::Test {
 protected:
  static constexpr std::uint32_t k_clients = 2000;

  void SetUp() override {
    const TestCertificate made = make_certificate();
    auto tls = make_tls_server_context({.certificate_pem = made.certificate_pem,
                                        .private_key_pem = made.private_key_pem,
                                        .alpn = {"test"},
                                        .secrets = {},
                                        .early_data = true});
    ASSERT_TRUE(tls);
    server_tls_ = *tls;
    auto client_tls = make_tls_client_context({.alpn = {"test"},
                                               .certificate_authority_pem = made.authority_pem,
                                               .certificate_hashes = {},
                                               .insecure = false});
    ASSERT_TRUE(client_tls);
    client_tls_ = *client_tls;
  }

  std::unique_ptr<Handshake> make_client(std::uint32_t client) {
    ClientHandshakeConfig config;
    config.tls = client_tls_;
    config.server_name = "localhost";
    std::array<std::uint8_t, 8> source;
    random_.fill(source);
    config.source = ConnectionId(source);
    const AddressPair server_view = path_of(client);
    config.path = {server_view.remote, server_view.local};
    auto made = Handshake::make_client(config, random_, now_);
    return made ? std::move(*made) : nullptr;
  }
  std::vector<std::vector<std::uint8_t>> flight_of(Handshake& client) {
    std::vector<std::vector<std::uint8_t>> datagrams;
    std::array<std::uint8_t, 1452> out;
    while (const std::size_t size = client.transmit(out, now_)) {
      datagrams.emplace_back(out.begin(), out.begin() + size);
    }
    return datagrams;
  }
  // Returns the first packet of a client that is then gone.
  std::vector<std::vector<std::uint8_t>> first_flight(std::uint32_t client) {
    const auto handshake = make_client(client);
    return handshake ? flight_of(*handshake) : std::vector<std::vector<std::uint8_t>>();
  }
  // Returns the packet that a client sends after the server told it to prove its address.
  std::vector<std::vector<std::uint8_t>> flight_after_retry(Endpoint& server,
                                                            std::uint32_t client) {
    const auto handshake = make_client(client);
    if (!handshake) return {};
    for (std::vector<std::uint8_t>& datagram : flight_of(*handshake)) {
      server.receive({datagram, path_of(client)}, now_);
    }
    TransmitBatch batch;
    batch.buffer = buffer_;
    for (server.poll_transmit(batch, now_); batch.size > 0; server.poll_transmit(batch, now_)) {
      std::vector<std::uint8_t> retry(buffer_.begin(),
                                      buffer_.begin() + static_cast<std::ptrdiff_t>(batch.size));
      handshake->receive(retry, Ecn::kNotEct, now_);
    }
    return flight_of(*handshake);
  }
  // Returns the id that the server chose in its response.
  std::vector<std::uint8_t> answer_id(Endpoint& server) {
    TransmitBatch batch;
    batch.buffer = buffer_;
    server.poll_transmit(batch, now_);
    if (batch.size == 0) return {};
    const Bytes source =
        peek_datagram(MutableBytes(buffer_).first(batch.size), k_local_id_length).source;
    return {source.begin(), source.end()};
  }

  static void send_all(Endpoint& endpoint, Time now) {
    std::vector<std::uint8_t> buffer(65536);
    TransmitBatch batch;
    do {
      batch.buffer = buffer;
      endpoint.poll_transmit(batch, now);
    } while (batch.size > 0);
  }

  std::vector<std::uint8_t> buffer_ = std::vector<std::uint8_t>(65536);
  Time now_{std::chrono::seconds(1000)};
  SeededRandom random_{1};
  std::shared_ptr<TlsContext> server_tls_;
  std::shared_ptr<TlsContext> client_tls_;
};

TEST_F(HalfOpenMemory, TwoThousandHandshakesCostLessThan64Megabytes) {
  std::vector<std::vector<std::vector<std::uint8_t>>> flights;
  for (std::uint32_t client = 0; client < k_clients; ++client) {
    flights.push_back(first_flight(client));
    ASSERT_FALSE(flights.back().empty());
  }
  EndpointConfig config;
  config.server_tls = server_tls_;
  Endpoint server(config, random_);
  count_from_now_on();
  const std::int64_t before = live_bytes();
  std::int64_t most = 0;
  for (std::uint32_t client = 0; client < k_clients; ++client) {
    for (std::vector<std::uint8_t>& datagram : flights[client]) {
      server.receive({datagram, path_of(client)}, now_);
    }
    send_all(server, now_);
    while (server.next_active(now_)) {
    }
    most = std::max(most, live_bytes() - before);
    now_ += std::chrono::milliseconds(2);
  }
  // All packets were real: each client was either accepted or asked to come again with a token.
  EXPECT_EQ(server.half_open_count(), config.admission.half_open_before_retry);
  EXPECT_EQ(server.stats().retries_sent, k_clients - config.admission.half_open_before_retry);
  RecordProperty("bytes", std::to_string(most));
  EXPECT_LT(most, 64 << 20);
  // The constant was measured: no handshake takes less.
  EXPECT_GT(most, static_cast<std::int64_t>(server.half_open_count()) * 10'000);
}

// Here the clients have proved their addresses, so each gets its handshake. Each sends any number
// of 1-RTT packets ahead of its Finished.
TEST_F(HalfOpenMemory, TwoThousandAfterARetryCostLessThan64Megabytes) {
  EndpointConfig config;
  config.server_tls = server_tls_;
  config.admission.retry = RetryPolicy::kAlways;
  Endpoint server(config, random_);
  count_from_now_on();
  std::int64_t most = 0;
  std::int64_t clients = 0;
  const std::int64_t before = live_bytes();
  for (std::uint32_t client = 0; client < k_clients; ++client) {
    auto flight = flight_after_retry(server, client);
    ASSERT_FALSE(flight.empty());
    for (std::vector<std::uint8_t>& datagram : flight) {
      server.receive({datagram, path_of(client)}, now_);
    }
    const auto id = answer_id(server);
    ASSERT_EQ(id.size(), k_local_id_length);
    for (int i = 0; i < 16; ++i) {
      std::vector<std::uint8_t> early(60'000, 0x55);
      early[0] = 0x40;
      std::ranges::copy(id, early.begin() + 1);
      server.receive({early, path_of(client)}, now_);
      early.resize(1200);
      server.receive({early, path_of(client)}, now_);
    }
    send_all(server, now_);
    while (server.next_active(now_)) {
    }
    server.reap([](ConnectionDriver&) {});
    clients = static_cast<std::int64_t>(server.half_open_count());
    most = std::max(most, live_bytes() - before);
    now_ += std::chrono::milliseconds(2);
  }
  // The oldest handshakes made room.
  EXPECT_GT(clients, 500);
  EXPECT_EQ(server.stats().limit_hits[static_cast<std::size_t>(LimitHit::kHalfOpen)],
            k_clients - static_cast<std::uint64_t>(clients));
  RecordProperty("bytes", std::to_string(most));
  EXPECT_LT(most, 64 << 20);
  EXPECT_GT(most, clients * 10'000);
}

}  // namespace
}  // namespace sheaf::quic
