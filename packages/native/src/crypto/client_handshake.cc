#include "crypto/client_handshake.h"

#include <algorithm>

#include "crypto/handshake_parameters.h"
#include "crypto/ngtcp2_callbacks.h"

namespace sheaf::quic {
namespace {

// First byte of a stored TLS session. GnuTLS's own format follows.
constexpr std::uint8_t k_ticket_without_early_data = 0;
constexpr std::uint8_t k_ticket_with_early_data = 1;

// RFC 9000 §7.2 demands at least 8 unpredictable bytes.
constexpr std::size_t k_first_destination_length = 16;

HandshakeFailure refuse(std::string reason) {
  return {.code = TransportErrorCode::kInternalError, .reason = std::move(reason)};
}

ConnectionId random_id(Random& random, std::size_t length) {
  ConnectionId id;
  id.length = static_cast<std::uint8_t>(length);
  random.fill({id.bytes.data(), length});
  return id;
}

bool supported(std::uint32_t version) { return version == k_version_1 || version == k_version_2; }

std::optional<HandshakeFailure> check_config(const ClientHandshakeConfig& config) {
  if (!config.tls || config.tls->role() != Role::kClient) return refuse("no client TLS context");
  if (!supported(config.version)) return refuse("this version of QUIC is not supported");
  if (config.source.length == 0) return refuse("the connection id is empty");
  const bool needs_name = !config.tls->insecure() && !config.tls->pinned();
  if (needs_name && config.server_name.empty()) {
    return refuse("no server name to compare the certificate with");
  }
  return std::nullopt;
}

// Returns whether a session can be resumed. A ticket or token is valid only for its version (RFC
// 9369 §5), and 0-RTT only for its protocol.
bool usable(const SessionState& session, const ClientHandshakeConfig& config) {
  const auto& offered = config.tls->alpn();
  return session.version == config.version &&
         std::find(offered.begin(), offered.end(), session.alpn) != offered.end();
}

}  // namespace

Result<std::unique_ptr<HandshakeState>, HandshakeFailure> ClientHandshake::make(
    const ClientHandshakeConfig& config, Random& random, Time now) {
  if (auto problem = check_config(config)) return *problem;
  auto handshake = std::make_unique<ClientHandshake>(random, config.path);
  if (!handshake->start(config, now)) return *handshake->failure;
  return std::unique_ptr<HandshakeState>(std::move(handshake));
}

bool ClientHandshake::start_tls(const ClientHandshakeConfig& config) {
  tls_context_ = config.tls;
  parameters_ = config.parameters;
  if (config.session && usable(*config.session, config)) session_ = config.session;

  TlsSessionConfig tls_config{};
  tls_config.context = config.tls;
  tls_config.server_name = config.server_name;
  tls_config.key_log = config.key_log;
  if (session_ && !session_->tls_session.empty()) {
    const Bytes stored = session_->tls_session;
    tls_config.early_data = stored.front() == k_ticket_with_early_data;
    tls_config.resume = stored.subspan(1);
  }
  if (tls_config.early_data) {
    without_early_data_ = std::make_unique<ClientHandshakeConfig>(config);
    without_early_data_->session->tls_session.front() = k_ticket_without_early_data;
    without_early_data_->session->token.clear();  // RFC 9000 §8.1.3: for one attempt
  }
  std::string problem;
  tls_ = TlsSession::make(tls_config, *this, problem);
  if (!tls_) fail(refuse("TLS cannot start: " + problem));
  return tls_ != nullptr;
}

bool ClientHandshake::start(const ClientHandshakeConfig& config, Time now) {
  if (!start_tls(config)) return false;
  // RFC 9368: offer the other version as one to switch to. After a Version Negotiation packet,
  // ngtcp2 checks that the order of preference led here (§4).
  const std::uint32_t other = config.version == k_version_1 ? k_version_2 : k_version_1;
  const std::uint32_t available[] = {config.version, other};
  const bool began_with_other = config.original_version == other;
  const std::uint32_t preferred[] = {began_with_other ? other : config.version,
                                     began_with_other ? config.version : other};
  ngtcp2_settings settings = make_settings(random_, now, config.timeout);
  settings.initial_rtt = static_cast<ngtcp2_duration>(config.initial_rtt.count());
  settings.available_versions = available;
  settings.available_versionslen = std::size(available);
  settings.preferred_versions = preferred;
  settings.preferred_versionslen = std::size(preferred);
  settings.original_version = config.original_version;
  if (session_ && !session_->token.empty()) {
    settings.token = session_->token.data();
    settings.tokenlen = session_->token.size();
    settings.token_type = NGTCP2_TOKEN_TYPE_NEW_TOKEN;
  }

  const ngtcp2_callbacks callbacks = make_callbacks();
  const ngtcp2_transport_params ours = to_ngtcp2(config.parameters, Role::kClient);
  const ngtcp2_cid first_destination = to_ngtcp2(random_id(random_, k_first_destination_length));
  const ngtcp2_cid source = to_ngtcp2(config.source);
  HandshakeState* user_data = this;
  const int result =
      ngtcp2_conn_client_new(&connection, &first_destination, &source, &path_, config.version,
                             &callbacks, &settings, &ours, nullptr, user_data);
  if (result != 0) {
    fail(failure_from_ngtcp2(result));
    return false;
  }
  ngtcp2_conn_set_tls_native_handle(connection, tls_->native());
  return write_first_datagram(now);
}

// Starts TLS, which begins when ngtcp2 writes. Doing so at once gives the caller the 0-RTT secret
// before it sends anything, and refuses here a TLS that cannot begin.
bool ClientHandshake::write_first_datagram(Time now) {
  first_datagram_.resize(NGTCP2_MAX_UDP_PAYLOAD_SIZE);
  const ngtcp2_ssize length =
      ngtcp2_conn_write_pkt(connection, nullptr, nullptr, first_datagram_.data(),
                            first_datagram_.size(), to_nanoseconds(now));
  first_datagram_.resize(length_or_zero(length));
  if (length < 0) fail(failure_from_ngtcp2(static_cast<int>(length)));
  return !failure;
}

std::size_t ClientHandshake::write(MutableBytes out, Time now) {
  if (first_datagram_.empty()) return HandshakeState::write(out, now);
  const std::vector<std::uint8_t> first = std::exchange(first_datagram_, {});
  if (failure) close_due_ = false;  // nobody knows of this connection yet
  if (failure || out.size() < first.size()) return 0;
  std::copy(first.begin(), first.end(), out.begin());
  return first.size();
}

// RFC 8446 §4.1.2: the second ClientHello has no early_data extension. GnuTLS would repeat it, and
// cannot hold another set of keys.
bool ClientHandshake::on_hello_retry_request() {
  retry_requested_ = without_early_data_ != nullptr;
  return !retry_requested_;
}

void ClientHandshake::on_tls_failure() {
  if (!retry_requested_) HandshakeState::on_tls_failure();
}

bool ClientHandshake::begin_again(int, MutableBytes, Ecn, Time now) {
  if (!std::exchange(retry_requested_, false)) return false;
  const std::unique_ptr<ClientHandshakeConfig> config = std::move(without_early_data_);
  discard_connection();
  emit({.kind = HandshakeEvent::Kind::kEarlyRejected});
  start(*config, now);
  return true;
}

bool ClientHandshake::accept_completion() {
  if (!early_data_accepted || !session_) return true;
  // RFC 8446 §4.2.10: 0-RTT data was sent in the protocol of the earlier connection.
  if (alpn != session_->alpn) {
    fail({.code = crypto_error(GNUTLS_A_ILLEGAL_PARAMETER),
          .reason = "0-RTT was accepted for another application protocol"});
    return false;
  }
  const auto remembered = decode_transport_parameters(session_->peer_parameters);
  const auto now = decode_transport_parameters(peer_parameters_);
  if (remembered && now && !covers_remembered(*now, *remembered)) {
    fail({.code = TransportErrorCode::kProtocolViolation,
          .reason = "0-RTT was accepted with lower limits than before"});
    return false;
  }
  return true;
}

TransportStatus ClientHandshake::receive_post_handshake(Bytes data) {
  if (!completed) return unexpected_post_handshake();
  return post_handshake_.read(data, *tls_);
}

void ClientHandshake::on_session_ticket(Bytes session) {
  HandshakeEvent event{.kind = HandshakeEvent::Kind::kSessionTicket,
                       .data = {post_handshake_.early_data() ? k_ticket_with_early_data
                                                             : k_ticket_without_early_data}};
  event.data.insert(event.data.end(), session.begin(), session.end());
  emit(std::move(event));
}

}  // namespace sheaf::quic
