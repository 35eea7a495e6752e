#include "crypto/handshake_state.h"

#include <ngtcp2/ngtcp2_crypto.h>

#include <algorithm>

#include "crypto/handshake_parameters.h"

namespace sheaf::quic {
namespace {

// Bound on events, which a peer cannot exceed before the caller polls
constexpr std::size_t k_max_events = 16;

TlsLevel from_ngtcp2(ngtcp2_encryption_level level) {
  switch (level) {
    case NGTCP2_ENCRYPTION_LEVEL_INITIAL:
      return TlsLevel::kInitial;
    case NGTCP2_ENCRYPTION_LEVEL_0RTT:
      return TlsLevel::kEarly;
    case NGTCP2_ENCRYPTION_LEVEL_HANDSHAKE:
      return TlsLevel::kHandshake;
    case NGTCP2_ENCRYPTION_LEVEL_1RTT:
      break;
  }
  return TlsLevel::kApplication;
}

TrafficSecret make_secret(CipherSuite suite, std::uint32_t version, Bytes bytes) {
  TrafficSecret secret;
  secret.suite = suite;
  secret.version = version;
  secret.length = static_cast<std::uint8_t>(std::min(bytes.size(), TrafficSecret::k_max_length));
  std::copy_n(bytes.begin(), secret.length, secret.bytes.begin());
  return secret;
}

bool install_handshake_keys(ngtcp2_conn* connection, Bytes receive, Bytes send) {
  constexpr auto level = NGTCP2_ENCRYPTION_LEVEL_HANDSHAKE;
  if (!receive.empty() &&
      ngtcp2_crypto_derive_and_install_rx_key(connection, nullptr, nullptr, nullptr, level,
                                              receive.data(), receive.size()) != 0) {
    return false;
  }
  return send.empty() ||
         ngtcp2_crypto_derive_and_install_tx_key(connection, nullptr, nullptr, nullptr, level,
                                                 send.data(), send.size()) == 0;
}

}  // namespace

HandshakeState::HandshakeState(Role role_of_this_side, Random& random_source,
                               const AddressPair& pair)
    : random_(random_source),
      role_(role_of_this_side),
      local_address_(pair.local),
      remote_address_(pair.remote) {
  path_.local = {local_address_.get(), local_address_.length};
  path_.remote = {remote_address_.get(), remote_address_.length};
}

HandshakeState::~HandshakeState() { free_connection(); }

bool HandshakeState::on_secrets(TlsLevel level, CipherSuite cipher_suite, Bytes receive,
                                Bytes send) {
  if (connection == nullptr) return false;
  using Kind = HandshakeEvent::Kind;
  // A server knows the protocol from the ClientHello on, and needs it for what it sends or reads
  // early.
  alpn = tls_->alpn();
  switch (level) {
    case TlsLevel::kInitial:
      return true;
    case TlsLevel::kEarly: {
      // RFC 9369 §4.1: 0-RTT keeps the version that the client chose.
      const std::uint32_t chosen = ngtcp2_conn_get_client_chosen_version(connection);
      const Bytes secret = role_ == Role::kServer ? receive : send;
      if (!secret.empty()) {
        emit({.kind = Kind::kEarlySecret, .secret = make_secret(cipher_suite, chosen, secret)});
      }
      return true;
    }
    case TlsLevel::kHandshake:
      return install_handshake_keys(connection, receive, send);
    case TlsLevel::kApplication: {
      suite = cipher_suite;
      const std::uint32_t negotiated = ngtcp2_conn_get_negotiated_version(connection);
      if (!send.empty()) {
        emit({.kind = Kind::kSendSecret, .secret = make_secret(suite, negotiated, send)});
      }
      if (!receive.empty()) {
        emit({.kind = Kind::kReceiveSecret, .secret = make_secret(suite, negotiated, receive)});
      }
      return true;
    }
  }
  return false;
}

bool HandshakeState::on_message(TlsLevel level, Bytes message) {
  if (level == TlsLevel::kApplication) {
    emit({.kind = HandshakeEvent::Kind::kTicket, .data = {message.begin(), message.end()}});
    return true;
  }
  if (connection == nullptr) return false;
  const auto ngtcp2_level = level == TlsLevel::kInitial ? NGTCP2_ENCRYPTION_LEVEL_INITIAL
                                                        : NGTCP2_ENCRYPTION_LEVEL_HANDSHAKE;
  return ngtcp2_conn_submit_crypto_data(connection, ngtcp2_level, message.data(), message.size()) ==
         0;
}

bool HandshakeState::on_peer_parameters(Bytes extension) {
  // After a HelloRetryRequest the same ClientHello comes again.
  if (connection == nullptr) return false;
  const bool again = !peer_parameters_.empty();
  if (again && std::equal(extension.begin(), extension.end(), peer_parameters_.begin(),
                          peer_parameters_.end())) {
    return true;
  }
  if (again) {
    fail({.code = TransportErrorCode::kTransportParameterError,
          .reason = "transport parameters changed during the handshake"});
    return false;
  }
  const auto decoded = decode_transport_parameters(extension);
  if (!decoded) {
    fail({.code = decoded.error().code, .reason = decoded.error().reason});
    return false;
  }
  const int result = ngtcp2_conn_decode_and_set_remote_transport_params(
      connection, extension.data(), extension.size());
  if (result != 0) {
    fail(failure_from_ngtcp2(result));
    return false;
  }
  peer_parameters_.assign(extension.begin(), extension.end());
  emit({.kind = HandshakeEvent::Kind::kPeerParameters, .data = peer_parameters_});
  return true;
}

bool HandshakeState::write_parameters(std::vector<std::uint8_t>& out) {
  if (connection == nullptr) return false;
  out.resize(1024);  // ids, tokens and numbers: less than 300 bytes
  const ngtcp2_ssize length =
      ngtcp2_conn_encode_local_transport_params(connection, out.data(), out.size());
  if (length < 0) return false;
  out.resize(static_cast<std::size_t>(length));
  append_extension_parameters(out, parameters_);
  return true;
}

int HandshakeState::on_crypto_data(ngtcp2_encryption_level level, Bytes data) {
  const auto progress = tls_->advance(from_ngtcp2(level), data);
  if (progress == TlsSession::Progress::kFailed) {
    on_tls_failure();
    return NGTCP2_ERR_CRYPTO;
  }
  // ngtcp2 is never told that TLS is complete, so it continues to handle only Initial and Handshake
  // packets.
  tls_done_ = progress == TlsSession::Progress::kDone;
  return 0;
}

void HandshakeState::on_version_negotiation(const std::uint32_t* versions, std::size_t count) {
  const std::uint32_t tried = ngtcp2_conn_get_client_chosen_version(connection);
  for (const std::uint32_t candidate : {k_version_1, k_version_2}) {
    const bool offered = std::find(versions, versions + count, candidate) != versions + count;
    if (offered && candidate != tried && common_version_ == 0) common_version_ = candidate;
  }
}

void HandshakeState::read(MutableBytes datagram, Ecn ecn, Time now) {
  if (connection == nullptr || failure) return;
  if (role_ == Role::kServer && completed) return;  // late copies
  const ngtcp2_pkt_info info{.ecn = static_cast<std::uint8_t>(ecn)};
  const int result = ngtcp2_conn_read_pkt(connection, &path_, &info, datagram.data(),
                                          datagram.size(), to_nanoseconds(now));
  if (begin_again(result, datagram, ecn, now)) return;
  if (result == NGTCP2_ERR_DRAINING) {
    fail(failure_from_peer(*ngtcp2_conn_get_ccerr(connection)));
  } else if (result != 0) {
    HandshakeFailure reason = failure_from_ngtcp2(result);
    reason.common_version = common_version_;
    fail(std::move(reason));
  }
  report_completion();
  if (result == 0) on_read(now);
}

void HandshakeState::fail(HandshakeFailure reason) {
  if (failure) return;
  close_due_ = !reason.silent && !reason.timeout && !reason.by_peer && !reason.version_mismatch;
  failure = std::move(reason);
}

std::size_t HandshakeState::write(MutableBytes out, Time now) {
  if (!failure) {
    const ngtcp2_ssize length = ngtcp2_conn_write_pkt(connection, nullptr, nullptr, out.data(),
                                                      out.size(), to_nanoseconds(now));
    if (length >= 0) return static_cast<std::size_t>(length);
    fail(failure_from_ngtcp2(static_cast<int>(length)));
  }
  return close_due_ ? write_close(out, now) : 0;
}

void HandshakeState::on_timeout(Time now) {
  if (connection == nullptr || failure) return;
  if (ngtcp2_conn_get_expiry(connection) > to_nanoseconds(now)) return;
  const int result = ngtcp2_conn_handle_expiry(connection, to_nanoseconds(now));
  if (result == 0) return;
  HandshakeFailure reason = failure_from_ngtcp2(result);
  // ngtcp2 does not know that TLS is complete. After that, the connection's idle timeout applies.
  if (reason.timeout && completed) return free_connection();
  fail(std::move(reason));
}

std::size_t HandshakeState::write_close(MutableBytes out, Time now) {
  close_due_ = false;
  ngtcp2_ccerr close;
  ngtcp2_ccerr_default(&close);
  ngtcp2_ccerr_set_transport_error(&close, static_cast<std::uint64_t>(failure->code),
                                   reinterpret_cast<const std::uint8_t*>(failure->reason.data()),
                                   failure->reason.size());
  return length_or_zero(ngtcp2_conn_write_connection_close(
      connection, nullptr, nullptr, out.data(), out.size(), &close, to_nanoseconds(now)));
}

void HandshakeState::report_completion() {
  if (failure || completed || !tls_done_) return;
  early_data_accepted = tls_->early_data_accepted();
  resumed = tls_->resumed();
  alpn = tls_->alpn();
  version = ngtcp2_conn_get_negotiated_version(connection);
  if (!accept_completion()) return;
  completed = true;
  emit({.kind = HandshakeEvent::Kind::kCompleted});
  on_completed();
}

void HandshakeState::on_tls_failure() { fail(failure_from_tls(tls_->failure())); }

void HandshakeState::discard_connection() {
  ngtcp2_conn_del(connection);
  connection = nullptr;
}

void HandshakeState::free_connection() {
  if (connection == nullptr) return;
  destination = from_ngtcp2(*ngtcp2_conn_get_dcid(connection));
  smoothed_rtt_ = measured_rtt();
  discard_connection();
}

Duration HandshakeState::measured_rtt() const {
  if (connection == nullptr) return smoothed_rtt_;
  ngtcp2_conn_info info;
  ngtcp2_conn_get_conn_info(connection, &info);
  // Without a sample, ngtcp2 reports its initial guess.
  if (info.min_rtt == UINT64_MAX) return Duration::zero();
  return Duration(static_cast<Duration::rep>(info.smoothed_rtt));
}

void HandshakeState::emit(HandshakeEvent event) {
  if (events.size() < k_max_events) events.push_back(std::move(event));
}

}  // namespace sheaf::quic
