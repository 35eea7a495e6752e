#include "crypto/server_handshake.h"

#include <utility>

#include "crypto/handshake_parameters.h"
#include "crypto/ngtcp2_callbacks.h"
#include "crypto/post_handshake.h"

namespace sheaf::quic {
namespace {

// Bound on datagrams of one ClientHello that came before its head. The client's address is not
// validated then, so they are few.
constexpr std::size_t k_max_held_back = 3;
constexpr std::size_t k_max_held_back_bytes = 24 << 10;

std::optional<HandshakeFailure> check_config(const ServerHandshakeConfig& config) {
  if (!config.tls || config.tls->role() != Role::kServer) {
    return HandshakeFailure{.reason = "no server TLS context"};
  }
  if (config.source.length == 0) return HandshakeFailure{.reason = "the connection id is empty"};
  if (config.version != k_version_1 && config.version != k_version_2) {
    return HandshakeFailure{.reason = "this version of QUIC is not supported",
                            .version_mismatch = true};
  }
  return std::nullopt;
}

}  // namespace

ServerHandshake::ServerHandshake(const ServerHandshakeConfig& config, Random& random)
    : HandshakeState(Role::kServer, random, config.path), client_network_(config.client_network) {
  tls_context_ = config.tls;
  parameters_ = config.parameters;
}

Result<std::unique_ptr<HandshakeState>, HandshakeFailure> ServerHandshake::make(
    const ServerHandshakeConfig& config, Random& random, Time now) {
  if (auto problem = check_config(config)) return *problem;
  auto handshake = std::make_unique<ServerHandshake>(config, random);
  if (!handshake->start_tls(config) || !handshake->start(config, now)) return *handshake->failure;
  handshake->restart_ = std::make_unique<ServerHandshakeConfig>(config);
  return std::unique_ptr<HandshakeState>(std::move(handshake));
}

bool ServerHandshake::start_tls(const ServerHandshakeConfig& config) {
  TlsSessionConfig tls_config{};
  tls_config.context = config.tls;
  tls_config.ticket_binding = encode_remembered(config.parameters, config.version);
  tls_config.key_log = config.key_log;
  std::string problem;
  tls_ = TlsSession::make(tls_config, *this, problem);
  if (!tls_) fail({.reason = "TLS cannot start: " + problem});
  return tls_ != nullptr;
}

bool ServerHandshake::start(const ServerHandshakeConfig& config, Time now) {
  ngtcp2_settings settings = make_settings(random_, now, config.timeout);
  const std::uint32_t available[] = {k_version_1, k_version_2};
  settings.available_versions = available;
  settings.available_versionslen = std::size(available);
  settings.preferred_versions = config.preferred_versions.data();
  settings.preferred_versionslen = config.preferred_versions.size();
  if (!config.token.empty()) {
    settings.token = config.token.data();
    settings.tokenlen = config.token.size();
    settings.token_type = config.retried ? NGTCP2_TOKEN_TYPE_RETRY : NGTCP2_TOKEN_TYPE_NEW_TOKEN;
  }

  ngtcp2_transport_params ours = to_ngtcp2(config.parameters, Role::kServer);
  ours.original_dcid = to_ngtcp2(config.original_destination);
  ours.original_dcid_present = 1;
  if (config.retried) {
    ours.retry_scid = to_ngtcp2(config.client_destination);
    ours.retry_scid_present = 1;
  }

  const ngtcp2_callbacks callbacks = make_callbacks();
  const ngtcp2_cid client = to_ngtcp2(config.client_source);
  const ngtcp2_cid source = to_ngtcp2(config.source);
  HandshakeState* user_data = this;
  const int result = ngtcp2_conn_server_new(&connection, &client, &source, &path_, config.version,
                                            &callbacks, &settings, &ours, nullptr, user_data);
  if (result != 0) {
    fail(failure_from_ngtcp2(result));
    return false;
  }
  ngtcp2_conn_set_tls_native_handle(connection, tls_->native());
  return true;
}

// Keeps the datagram and starts again, which saves a round trip: TLS has not seen anything yet.
// ngtcp2 itself does not buffer CRYPTO data of an address that is not validated; it expects to be
// discarded and a Retry to be sent. Chromium sends its ClientHello in two datagrams with the parts
// shuffled.
bool ServerHandshake::begin_again(int result, MutableBytes datagram, Ecn ecn, Time now) {
  if (result != NGTCP2_ERR_RETRY) return false;
  std::size_t bytes = datagram.size();
  for (const HeldBack& held : held_back_) bytes += held.datagram.size();
  if (!restart_ || held_back_.size() >= k_max_held_back || bytes > k_max_held_back_bytes) {
    fail(failure_from_ngtcp2(NGTCP2_ERR_DROP_CONN));
    return true;
  }
  held_back_.push_back({.datagram = {datagram.begin(), datagram.end()}, .ecn = ecn});
  discard_connection();
  initial_keys_discarded = false;
  start(*restart_, now);
  return true;
}

void ServerHandshake::on_read(Time now) {
  if (!restart_) return;
  restart_.reset();
  for (HeldBack& held : std::exchange(held_back_, {})) read(held.datagram, held.ecn, now);
}

int ServerHandshake::on_crypto_data(ngtcp2_encryption_level level, Bytes data) {
  tls_context_->early_data().set_network(client_network_);
  return HandshakeState::on_crypto_data(level, data);
}

void ServerHandshake::on_completed() {
  bool right_key = true;
  // After compatible version negotiation the ticket is for the new version. GnuTLS accepts no other
  // key once it has tried to read a ticket, so the key is left alone if it is already the right
  // one.
  if (version != ngtcp2_conn_get_client_chosen_version(connection)) {
    right_key = tls_->rebind_tickets(encode_remembered(parameters_, version));
  }
  if (right_key) tls_->send_ticket();
  tls_.reset();
  ngtcp2_conn_set_tls_native_handle(connection, nullptr);
}

TransportStatus ServerHandshake::receive_post_handshake(Bytes) {
  return unexpected_post_handshake();
}

}  // namespace sheaf::quic
