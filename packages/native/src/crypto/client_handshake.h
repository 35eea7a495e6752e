#pragma once

#include "crypto/handshake_state.h"
#include "crypto/post_handshake.h"

namespace sheaf::quic {

class ClientHandshake final : public HandshakeState {
 public:
  // Starts a handshake. `random` outlives it.
  static Result<std::unique_ptr<HandshakeState>, HandshakeFailure> make(
      const ClientHandshakeConfig& config, Random& random, Time now);
  ClientHandshake(Random& random, const AddressPair& path)
      : HandshakeState(Role::kClient, random, path) {}

  std::size_t write(MutableBytes out, Time now) override;
  TransportStatus receive_post_handshake(Bytes data) override;
  bool on_hello_retry_request() override;
  void on_session_ticket(Bytes session) override;

 private:
  bool start(const ClientHandshakeConfig& config, Time now);
  bool start_tls(const ClientHandshakeConfig& config);
  bool write_first_datagram(Time now);
  // Starts another attempt without 0-RTT, in place of one that cannot continue.
  bool begin_again(int result, MutableBytes datagram, Ecn ecn, Time now) override;
  void on_tls_failure() override;
  bool accept_completion() override;
  void on_completed() override { without_early_data_.reset(); }

  std::unique_ptr<ClientHandshakeConfig> without_early_data_;  // while 0-RTT is offered
  bool retry_requested_ = false;
  std::optional<SessionState> session_;
  std::vector<std::uint8_t> first_datagram_;  // until it is fetched
  PostHandshakeReader post_handshake_;
};

}  // namespace sheaf::quic
