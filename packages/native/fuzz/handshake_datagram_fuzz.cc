#include <cstdlib>

#include "certificate.h"
#include "crypto/handshake.h"
#include "crypto/tls_session.h"
#include "initial_packet.h"

namespace sheaf::quic {
namespace {

constexpr std::uint8_t k_destination[] = {1, 2, 3, 4, 5, 6, 7, 8};
constexpr std::uint8_t k_source[] = {9, 9, 9, 9};

// Catches the ClientHello of a client.
struct HelloCatcher final : TlsObserver {
  std::vector<std::uint8_t> hello;
  bool on_secrets(TlsLevel, CipherSuite, Bytes, Bytes) override { return true; }
  bool on_message(TlsLevel, Bytes message) override {
    hello.insert(hello.end(), message.begin(), message.end());
    return true;
  }
  bool on_peer_parameters(Bytes) override { return true; }
  bool write_parameters(std::vector<std::uint8_t>& out) override {
    out = {0x0f, 4, 9, 9, 9, 9, 4, 1, 63};  // initial_source_connection_id, initial_max_data
    return true;
  }
  bool on_hello_retry_request() override { return true; }
  void on_session_ticket(Bytes) override {}
};

std::vector<std::uint8_t> make_hello() {
  auto context = make_tls_client_context({.alpn = {"h3"}, .insecure = true});
  HelloCatcher catcher;
  std::string problem;
  TlsSessionConfig config{};
  config.context = *context;
  config.server_name = "localhost";
  auto session = TlsSession::make(config, catcher, problem);
  if (!session) std::abort();
  session->advance(TlsLevel::kInitial, {});
  return catcher.hello;
}

std::unique_ptr<Handshake> make_server(Random& random) {
  static const auto context = make_fuzz_server_context();
  ServerHandshakeConfig config;
  config.tls = context;
  config.source = ConnectionId(Bytes(k_destination));
  config.client_destination = config.original_destination = ConnectionId(Bytes(k_destination));
  config.client_source = ConnectionId(Bytes(k_source));
  auto made = Handshake::make_server(config, random, Time(1s));
  if (!made) std::abort();
  return std::move(*made);
}

void give(Handshake& handshake, std::vector<std::uint8_t> datagram) {
  const DatagramParts parts = split_datagram(datagram);
  if (parts.handshake) handshake.receive(datagram, Ecn::kNotEct, Time(1s));
  std::vector<std::uint8_t> out(1200);
  for (int i = 0; i < 8 && handshake.transmit(out, Time(1s)) > 0; ++i) {
  }
  while (handshake.poll_event()) {
  }
}

std::vector<std::uint8_t> crypto_frame(Bytes data) {
  std::vector<std::uint8_t> frame(1 + 1 + 2 + data.size());
  Writer writer{frame};
  writer.write_u8(0x06);
  writer.write_varint(0);
  writer.write_varint(data.size(), 2);
  writer.write_bytes(data);
  return frame;
}

}  // namespace
}  // namespace sheaf::quic

// Feeds datagrams to the handshake of a server. The first byte chooses what the rest is: raw
// datagrams, frames of a sealed Initial, TLS messages in a CRYPTO frame, or changes of a valid
// ClientHello.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sheaf::quic;
  if (size == 0) return 0;
  const Bytes input{data + 1, std::min<std::size_t>(size - 1, 1100)};
  SeededRandom random(1);
  const auto server = make_server(random);
  InitialSealer sealer(k_destination, k_source);
  switch (data[0] & 3) {
    case 0: {
      std::vector<std::uint8_t> datagram(input.begin(), input.end());
      peek_datagram(datagram, 8);
      accept_initial(datagram);
      give(*server, datagram);
      break;
    }
    case 1:
      give(*server, sealer.seal(input.first(input.size() / 2), 0));
      give(*server, sealer.seal(input.subspan(input.size() / 2), 1));
      break;
    case 2:
      give(*server, sealer.seal(crypto_frame(input), 0));
      break;
    default: {
      static const std::vector<std::uint8_t> valid = make_hello();
      std::vector<std::uint8_t> hello = valid;
      for (std::size_t i = 0; i + 2 < input.size(); i += 3) {
        hello[(std::size_t{input[i]} << 8 | input[i + 1]) % hello.size()] = input[i + 2];
      }
      give(*server, sealer.seal(crypto_frame(hello), 0));
      // otherwise this program tests nothing
      if (hello == valid && server->failure()) std::abort();
      break;
    }
  }
  return 0;
}
