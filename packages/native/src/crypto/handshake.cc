#include "crypto/handshake.h"

#include <algorithm>
#include <utility>

#include "crypto/handshake_state.h"

namespace sheaf::quic {

Handshake::Handshake() = default;
Handshake::~Handshake() = default;

void Handshake::receive(MutableBytes datagram, Ecn ecn, Time now) {
  if (!datagram.empty()) state_->read(datagram, ecn, now);
}

std::size_t Handshake::transmit(MutableBytes out, Time now) {
  State& state = *state_;
  if (state.connection == nullptr) return 0;
  if (!state.first_datagram.empty()) {
    const std::vector<std::uint8_t> first = std::exchange(state.first_datagram, {});
    if (state.failure) state.close_due = false;  // nobody knows of this connection yet
    if (state.failure || out.size() < first.size()) return 0;
    std::copy(first.begin(), first.end(), out.begin());
    return first.size();
  }
  if (!state.failure) {
    const ngtcp2_ssize length = ngtcp2_conn_write_pkt(state.connection, nullptr, nullptr,
                                                      out.data(), out.size(), to_nanoseconds(now));
    if (length >= 0) return static_cast<std::size_t>(length);
    state.fail(failure_from_ngtcp2(static_cast<int>(length)));
  }
  return state.close_due ? state.write_close(out, now) : 0;
}

Time Handshake::next_timeout() const {
  if (state_->connection == nullptr || state_->failure) return k_never;
  return from_nanoseconds(ngtcp2_conn_get_expiry(state_->connection));
}

void Handshake::on_timeout(Time now) {
  State& state = *state_;
  if (state.connection == nullptr || state.failure) return;
  if (ngtcp2_conn_get_expiry(state.connection) > to_nanoseconds(now)) return;
  const int result = ngtcp2_conn_handle_expiry(state.connection, to_nanoseconds(now));
  if (result == 0) return;
  HandshakeFailure failure = failure_from_ngtcp2(result);
  // ngtcp2 does not know that TLS is complete. After that, the connection's idle timeout applies.
  if (failure.timeout && state.completed) return state.free_connection();
  state.fail(std::move(failure));
}

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

void Handshake::release_connection() { state_->free_connection(); }

}  // namespace sheaf::quic
