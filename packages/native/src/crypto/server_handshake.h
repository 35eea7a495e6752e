#pragma once

#include "crypto/handshake_state.h"

namespace sheaf::quic {

class ServerHandshake final : public HandshakeState {
 public:
  // Starts a handshake. `random` outlives it.
  static Result<std::unique_ptr<HandshakeState>, HandshakeFailure> make(
      const ServerHandshakeConfig& config, Random& random, Time now);
  ServerHandshake(const ServerHandshakeConfig& config, Random& random);

  TransportStatus receive_post_handshake(Bytes data) override;
  // Only a client receives these two.
  bool on_hello_retry_request() override { return false; }
  void on_session_ticket(Bytes) override {}
  int on_crypto_data(ngtcp2_encryption_level level, Bytes data) override;

 private:
  struct HeldBack {
    std::vector<std::uint8_t> datagram;
    Ecn ecn;
  };

  bool start_tls(const ServerHandshakeConfig& config);
  bool start(const ServerHandshakeConfig& config, Time now);
  // Keeps the tail of a ClientHello that came before its head.
  bool begin_again(int result, MutableBytes datagram, Ecn ecn, Time now) override;
  // Reads the datagrams that were held back, since the head has come.
  void on_read(Time now) override;
  void on_completed() override;

  std::vector<std::uint8_t> client_network_;
  // What is needed to begin again, until the head of the ClientHello has come
  std::unique_ptr<ServerHandshakeConfig> restart_;
  std::vector<HeldBack> held_back_;
};

}  // namespace sheaf::quic
