#include <utility>

#include "crypto/handshake_state.h"

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

Result<std::unique_ptr<Handshake>, HandshakeFailure> Handshake::make_server(
    const ServerHandshakeConfig& config, Random& random, Time now) {
  if (auto problem = check_config(config)) return *problem;
  std::unique_ptr<Handshake> handshake(new Handshake);
  handshake->state_ = std::make_unique<State>(Role::kServer, random, config.path);
  State& state = *handshake->state_;
  state.tls_context = config.tls;
  state.parameters = config.parameters;
  state.client_network = config.client_network;
  TlsSessionConfig tls_config{};
  tls_config.context = config.tls;
  tls_config.ticket_key =
      config.tls->ticket_key_for(encode_remembered(config.parameters, config.version));
  tls_config.key_log = config.key_log;
  std::string problem;
  state.tls = TlsSession::make(tls_config, state, problem);
  gnutls_memset(tls_config.ticket_key.data(), 0, tls_config.ticket_key.size());
  if (!state.tls) return HandshakeFailure{.reason = "TLS cannot start: " + problem};
  if (!state.start_server(config, now)) return *state.failure;
  state.restart = std::make_unique<ServerHandshakeConfig>(config);
  return handshake;
}

bool Handshake::State::start_server(const ServerHandshakeConfig& config, Time now) {
  ngtcp2_settings settings = make_settings(now, config.timeout);
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
  const int result = ngtcp2_conn_server_new(&connection, &client, &source, &path, config.version,
                                            &callbacks, &settings, &ours, nullptr, this);
  if (result != 0) {
    fail(failure_from_ngtcp2(result));
    return false;
  }
  ngtcp2_conn_set_tls_native_handle(connection, tls->native());
  return true;
}

// Keeps the datagram and starts again, which saves a round trip: TLS has not seen anything yet.
// ngtcp2 itself does not buffer CRYPTO data of an address that is not validated; it expects to be
// discarded and a Retry to be sent. Chromium sends its ClientHello in two datagrams with the parts
// shuffled.
void Handshake::State::hold_back(MutableBytes datagram, Ecn ecn, Time now) {
  std::size_t bytes = datagram.size();
  for (const HeldBack& held : held_back) bytes += held.datagram.size();
  if (!restart || held_back.size() >= k_max_held_back || bytes > k_max_held_back_bytes) {
    return fail(failure_from_ngtcp2(NGTCP2_ERR_DROP_CONN));
  }
  held_back.push_back({.datagram = {datagram.begin(), datagram.end()}, .ecn = ecn});
  ngtcp2_conn_del(connection);
  connection = nullptr;
  initial_keys_discarded = false;
  start_server(*restart, now);
}

// Reads the datagrams that were held back, since the head has come.
void Handshake::State::read_held_back(Time now) {
  restart.reset();
  for (HeldBack& held : std::exchange(held_back, {})) read(held.datagram, held.ecn, now);
}

void Handshake::State::finish_server() {
  bool right_key = true;
  // After compatible version negotiation the ticket is for the new version. GnuTLS accepts no other
  // key once it has tried to read a ticket, so the key is left alone if it is already the right
  // one.
  if (version != ngtcp2_conn_get_client_chosen_version(connection)) {
    TicketKey key = tls_context->ticket_key_for(encode_remembered(parameters, version));
    right_key = tls->replace_ticket_key(key);
    gnutls_memset(key.data(), 0, key.size());
  }
  if (right_key) tls->send_ticket();
  tls.reset();
  ngtcp2_conn_set_tls_native_handle(connection, nullptr);
}

}  // namespace sheaf::quic
