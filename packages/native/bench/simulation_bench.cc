// `simulation_bench [MINUTES]`: how fast the laboratory is. Two engines in virtual time, one sends
// a stream of 50 Mbit/s over a link of 50 Mbit/s for 10 simulated minutes. Prints one JSON line
// with the real and the processor time that it took; the digest is equal for equal runs.
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <vector>

#include "crypto/test_certificates.h"
#include "sim/endpoint_host.h"
#include "sim/simulation.h"
#include "sim/units.h"

namespace {

using namespace sheaf::quic;

constexpr std::uint64_t k_seed = 1;
constexpr std::uint64_t k_rate = 50_mbps;
constexpr std::size_t k_chunk = 256_kib;

Address address(std::uint8_t last) {
  Address made{.port = 443, .family = Address::Family::kIpv4};
  made.ip = {10, 0, 0, last};
  return made;
}

// Keeps a stream full, and reads it at the other end.
class Transfer {
 public:
  Transfer() : simulation_(k_seed), content_(k_chunk, 0x5a) {
    const TestCertificate certificate = make_certificate();
    TlsServerConfig server_tls;
    server_tls.certificate_pem = certificate.certificate_pem;
    server_tls.private_key_pem = certificate.private_key_pem;
    server_tls.alpn = {"bench"};
    TlsClientConfig client_tls;
    client_tls.alpn = {"bench"};
    client_tls.certificate_authority_pem = certificate.authority_pem;
    EndpointConfig config;
    client_ = std::make_unique<Endpoint>(config, simulation_.random());
    config.server_tls = *make_tls_server_context(server_tls);
    server_ = std::make_unique<Endpoint>(config, simulation_.random());
    client_host_ = std::make_unique<EndpointHost>(*client_);
    server_host_ = std::make_unique<EndpointHost>(*server_);
    client_host_->on_event = [this](ConnectionDriver&, const Event& event, Time) {
      const auto* stream = std::get_if<StreamEvent>(&event);
      if (std::holds_alternative<EstablishedEvent>(event)) open();
      if (stream && stream->kind == StreamEvent::Kind::kWritable) write();
    };
    server_host_->on_event = [this](ConnectionDriver& driver, const Event& event, Time now) {
      const auto* stream = std::get_if<StreamEvent>(&event);
      if (stream && stream->kind == StreamEvent::Kind::kReadable) read(driver, stream->stream, now);
    };
    simulation_.add_host("client", *client_host_);
    simulation_.add_host("server", *server_host_);
    simulation_.connect({"client", address(1)}, {"server", address(2)},
                        {.rate = k_rate, .delay = 20ms}, {.rate = k_rate, .delay = 20ms});
    ClientHandshakeConfig handshake;
    handshake.tls = *make_tls_client_context(client_tls);
    handshake.server_name = "localhost";
    handshake.path = {address(1), address(2)};
    driver_ = *client_->connect(std::move(handshake), {}, simulation_.now());
  }

  void run(Duration duration) { simulation_.run_for(duration); }
  std::uint64_t received() const { return received_; }
  const Simulation& simulation() const { return simulation_; }

 private:
  void open() {
    stream_ = *driver_->connection().open_stream(Directionality::kUnidirectional);
    write();
  }
  void write() {
    for (;;) {
      const auto taken = driver_->connection().write(stream_, SendChunk::copy_of(content_), false);
      if (!taken || !*taken) break;
    }
    client_->wake(*driver_);
  }
  void read(ConnectionDriver& driver, StreamId stream, Time now) {
    for (;;) {
      const auto result = driver.connection().read(stream, buffer_, now);
      if (!result || result->bytes == 0) break;
      received_ += result->bytes;
    }
    server_->wake(driver);
  }

  Simulation simulation_;
  std::vector<std::uint8_t> content_;
  std::vector<std::uint8_t> buffer_ = std::vector<std::uint8_t>(64_kib);
  std::unique_ptr<Endpoint> client_, server_;
  std::unique_ptr<EndpointHost> client_host_, server_host_;
  ConnectionDriver* driver_ = nullptr;
  StreamId stream_{};
  std::uint64_t received_ = 0;
};

}  // namespace

int main(int count, char** arguments) {
  const int minutes = count > 1 ? std::atoi(arguments[1]) : 10;
  if (minutes < 1) return std::fprintf(stderr, "usage: simulation_bench [MINUTES]\n"), 2;
  Transfer transfer;
  const std::clock_t processor_start = std::clock();
  const auto start = std::chrono::steady_clock::now();
  transfer.run(std::chrono::minutes(minutes));
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  const double processor = static_cast<double>(std::clock() - processor_start) / CLOCKS_PER_SEC;
  std::printf(
      "{\"simulated_s\":%d,\"real_s\":%.2f,\"processor_s\":%.2f,\"goodput_mbps\":%.2f,\"events\":"
      "%" PRIu64 ",\"digest\":\"%016" PRIx64 "\"}\n",
      minutes * 60, taken.count(), processor,
      static_cast<double>(transfer.received()) * 8 / (60e6 * minutes),
      transfer.simulation().events(), transfer.simulation().digest());
}
