#include "crypto/handshake.h"

#include <utility>

#include "crypto/client_handshake.h"
#include "crypto/server_handshake.h"

namespace sheaf::quic {

Handshake::Handshake(std::unique_ptr<HandshakeState> state) : state_(std::move(state)) {}
Handshake::~Handshake() = default;

Result<std::unique_ptr<Handshake>, HandshakeFailure> Handshake::make_client(
    const ClientHandshakeConfig& config, Random& random, Time now) {
  auto state = ClientHandshake::make(config, random, now);
  if (!state) return state.error();
  return std::unique_ptr<Handshake>(new Handshake(std::move(*state)));
}

Result<std::unique_ptr<Handshake>, HandshakeFailure> Handshake::make_server(
    const ServerHandshakeConfig& config, Random& random, Time now) {
  auto state = ServerHandshake::make(config, random, now);
  if (!state) return state.error();
  return std::unique_ptr<Handshake>(new Handshake(std::move(*state)));
}

void Handshake::receive(MutableBytes datagram, Ecn ecn, Time now) {
  if (!datagram.empty()) state_->read(datagram, ecn, now);
}

std::size_t Handshake::transmit(MutableBytes out, Time now) {
  return state_->connection == nullptr ? 0 : state_->write(out, now);
}

Time Handshake::next_timeout() const {
  if (state_->connection == nullptr || state_->failure) return k_never;
  return from_nanoseconds(ngtcp2_conn_get_expiry(state_->connection));
}

void Handshake::on_timeout(Time now) { state_->on_timeout(now); }

std::optional<HandshakeEvent> Handshake::poll_event() {
  if (state_->events.empty()) return std::nullopt;
  HandshakeEvent event = std::move(state_->events.front());
  state_->events.pop_front();
  return event;
}

const std::optional<HandshakeFailure>& Handshake::failure() const { return state_->failure; }

void Handshake::close(TransportErrorCode code, std::string_view reason, Time) {
  state_->fail({.code = code, .reason = std::string(reason)});
}

bool Handshake::address_validated() const { return state_->initial_keys_discarded; }
bool Handshake::completed() const { return state_->completed; }
bool Handshake::early_data_accepted() const { return state_->early_data_accepted; }
bool Handshake::resumed() const { return state_->resumed; }
CipherSuite Handshake::suite() const { return state_->suite; }

std::string Handshake::alpn() const { return state_->alpn; }

std::uint32_t Handshake::version() const {
  if (state_->completed || state_->connection == nullptr) return state_->version;
  const std::uint32_t negotiated = ngtcp2_conn_get_negotiated_version(state_->connection);
  return negotiated != 0 ? negotiated : ngtcp2_conn_get_client_chosen_version(state_->connection);
}

ConnectionId Handshake::destination() const {
  if (state_->connection == nullptr) return state_->destination;
  return from_ngtcp2(*ngtcp2_conn_get_dcid(state_->connection));
}

Duration Handshake::smoothed_rtt() const { return state_->measured_rtt(); }

TransportStatus Handshake::receive_post_handshake(Bytes data) {
  return state_->receive_post_handshake(data);
}

void Handshake::release_connection() { state_->free_connection(); }

}  // namespace sheaf::quic
