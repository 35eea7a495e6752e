#include "side.h"

#include <arpa/inet.h>
#include <gnutls/crypto.h>
#include <netinet/in.h>
#include <ngtcp2/ngtcp2_crypto_gnutls.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>

namespace {

constexpr std::uint64_t k_window = std::uint64_t{1} << 40;
constexpr std::size_t k_id_length = 8;

[[noreturn]] void fail(const char* what, const char* why) {
  std::fprintf(stderr, "%s: %s\n", what, why);
  std::exit(1);
}

ngtcp2_conn* connection_of(ngtcp2_crypto_conn_ref* reference) {
  return *static_cast<ngtcp2_conn**>(reference->user_data);
}

void fill_random(std::uint8_t* out, std::size_t length, const ngtcp2_rand_ctx*) {
  gnutls_rnd(GNUTLS_RND_RANDOM, out, length);
}

int new_connection_id(ngtcp2_conn*, ngtcp2_cid* id, std::uint8_t* token, std::size_t length, void*) {
  id->datalen = length;
  gnutls_rnd(GNUTLS_RND_RANDOM, id->data, length);
  gnutls_rnd(GNUTLS_RND_RANDOM, token, NGTCP2_STATELESS_RESET_TOKENLEN);
  return 0;
}

ngtcp2_cid random_id() {
  ngtcp2_cid id;
  std::uint8_t bytes[k_id_length];
  gnutls_rnd(GNUTLS_RND_RANDOM, bytes, sizeof(bytes));
  ngtcp2_cid_init(&id, bytes, sizeof(bytes));
  return id;
}

ngtcp2_callbacks make_callbacks() {
  ngtcp2_callbacks callbacks{};
  callbacks.client_initial = ngtcp2_crypto_client_initial_cb;
  callbacks.recv_client_initial = ngtcp2_crypto_recv_client_initial_cb;
  callbacks.recv_crypto_data = ngtcp2_crypto_recv_crypto_data_cb;
  callbacks.encrypt = ngtcp2_crypto_encrypt_cb;
  callbacks.decrypt = ngtcp2_crypto_decrypt_cb;
  callbacks.hp_mask = ngtcp2_crypto_hp_mask_cb;
  callbacks.recv_retry = ngtcp2_crypto_recv_retry_cb;
  callbacks.update_key = ngtcp2_crypto_update_key_cb;
  callbacks.delete_crypto_aead_ctx = ngtcp2_crypto_delete_crypto_aead_ctx_cb;
  callbacks.delete_crypto_cipher_ctx = ngtcp2_crypto_delete_crypto_cipher_ctx_cb;
  callbacks.get_path_challenge_data = ngtcp2_crypto_get_path_challenge_data_cb;
  callbacks.version_negotiation = ngtcp2_crypto_version_negotiation_cb;
  callbacks.rand = fill_random;
  callbacks.get_new_connection_id = new_connection_id;
  return callbacks;
}

// The window itself cannot be set: the warm-up transfer opens it beyond a batch (slow start).
ngtcp2_settings make_settings() {
  ngtcp2_settings settings;
  ngtcp2_settings_default(&settings);
  settings.cc_algo = NGTCP2_CC_ALGO_RENO;
  settings.initial_ts = timestamp();
  settings.max_tx_udp_payload_size = k_packet_size;
  settings.no_tx_udp_payload_size_shaping = 1;
  settings.no_pmtud = 1;
  settings.max_window = k_window;
  settings.max_stream_window = k_window;
  settings.ack_thresh = 2;
  return settings;
}

ngtcp2_transport_params make_parameters() {
  ngtcp2_transport_params parameters;
  ngtcp2_transport_params_default(&parameters);
  parameters.initial_max_data = k_window;
  parameters.initial_max_stream_data_bidi_local = k_window;
  parameters.initial_max_stream_data_bidi_remote = k_window;
  parameters.initial_max_streams_bidi = 16;
  parameters.max_udp_payload_size = k_packet_size;
  return parameters;
}

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

}  // namespace

ngtcp2_tstamp timestamp() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<ngtcp2_tstamp>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}

Side::Side(Role role, gnutls_certificate_credentials_t credentials,
           std::span<const std::uint8_t> client_initial)
    : credentials_(credentials) {
  const sockaddr_in local = loopback(role == Role::kClient ? 1111 : 2222);
  const sockaddr_in remote = loopback(role == Role::kClient ? 2222 : 1111);
  ngtcp2_path_storage_init(&path_, reinterpret_cast<const ngtcp2_sockaddr*>(&local), sizeof(local),
                           reinterpret_cast<const ngtcp2_sockaddr*>(&remote), sizeof(remote),
                           nullptr);
  reference_.get_conn = connection_of;
  reference_.user_data = &connection_;
  start_connection(role, client_initial);
  start_tls(role, credentials);
}

Side::~Side() {
  ngtcp2_conn_del(connection_);
  gnutls_deinit(session_);
  if (owns_credentials_) gnutls_certificate_free_credentials(credentials_);
}

void Side::start_connection(Role role, std::span<const std::uint8_t> client_initial) {
  ngtcp2_callbacks callbacks = make_callbacks();
  callbacks.recv_stream_data = receive_stream_data;
  const ngtcp2_settings settings = make_settings();
  ngtcp2_transport_params parameters = make_parameters();
  const ngtcp2_cid source = random_id();
  int status = 0;
  if (role == Role::kClient) {
    const ngtcp2_cid destination = random_id();
    status = ngtcp2_conn_client_new(&connection_, &destination, &source, &path_.path,
                                    NGTCP2_PROTO_VER_V1, &callbacks, &settings, &parameters,
                                    nullptr, this);
  } else {
    ngtcp2_pkt_hd header;
    if (ngtcp2_accept(&header, client_initial.data(), client_initial.size()) != 0) {
      fail("accept", "not an Initial packet");
    }
    parameters.original_dcid = header.dcid;
    parameters.original_dcid_present = 1;
    status = ngtcp2_conn_server_new(&connection_, &header.scid, &source, &path_.path,
                                    header.version, &callbacks, &settings, &parameters, nullptr,
                                    this);
  }
  if (status != 0) fail("connection", ngtcp2_strerror(status));
}

void Side::start_tls(Role role, gnutls_certificate_credentials_t credentials) {
  const bool client = role == Role::kClient;
  gnutls_init(&session_, client ? GNUTLS_CLIENT : GNUTLS_SERVER | GNUTLS_NO_AUTO_SEND_TICKET);
  gnutls_priority_set_direct(session_,
                             "NORMAL:-VERS-ALL:+VERS-TLS1.3:-CIPHER-ALL:+AES-128-GCM:"
                             "%DISABLE_TLS13_COMPAT_MODE",
                             nullptr);
  if (client) {
    ngtcp2_crypto_gnutls_configure_client_session(session_);
    gnutls_certificate_allocate_credentials(&credentials_);
    owns_credentials_ = true;
    credentials = credentials_;
  } else {
    ngtcp2_crypto_gnutls_configure_server_session(session_);
  }
  gnutls_credentials_set(session_, GNUTLS_CRD_CERTIFICATE, credentials);
  gnutls_datum_t protocol{reinterpret_cast<unsigned char*>(const_cast<char*>("bench")), 5};
  gnutls_alpn_set_protocols(session_, &protocol, 1, GNUTLS_ALPN_MANDATORY);
  gnutls_session_set_ptr(session_, &reference_);
  ngtcp2_conn_set_tls_native_handle(connection_, session_);
}

int Side::receive_stream_data(ngtcp2_conn*, std::uint32_t, std::int64_t, std::uint64_t,
                              const std::uint8_t*, std::size_t length, void* user, void*) {
  static_cast<Side*>(user)->stream_bytes_received_ += length;
  return 0;
}

std::size_t Side::write_packet(std::span<std::uint8_t> out, ngtcp2_tstamp now) {
  ngtcp2_pkt_info info;
  const ngtcp2_ssize written =
      ngtcp2_conn_write_pkt(connection_, nullptr, &info, out.data(), out.size(), now);
  if (written < 0) fail("write_pkt", ngtcp2_strerror(static_cast<int>(written)));
  return static_cast<std::size_t>(written);
}

std::size_t Side::write_stream(std::span<std::uint8_t> out, std::int64_t stream,
                               std::span<const std::uint8_t> data, bool fin, std::size_t& taken,
                               ngtcp2_tstamp now) {
  ngtcp2_pkt_info info;
  ngtcp2_ssize accepted = -1;
  const ngtcp2_vec vector{const_cast<std::uint8_t*>(data.data()), data.size()};
  const ngtcp2_ssize written = ngtcp2_conn_writev_stream(
      connection_, nullptr, &info, out.data(), out.size(), &accepted,
      fin ? NGTCP2_WRITE_STREAM_FLAG_FIN : NGTCP2_WRITE_STREAM_FLAG_NONE, stream, &vector, 1, now);
  if (written < 0) fail("writev_stream", ngtcp2_strerror(static_cast<int>(written)));
  if (accepted > 0) taken += static_cast<std::size_t>(accepted);
  return static_cast<std::size_t>(written);
}

void Side::read_packet(std::span<const std::uint8_t> packet, ngtcp2_tstamp now) {
  const ngtcp2_pkt_info info{};
  const int status = ngtcp2_conn_read_pkt(connection_, &path_.path, &info, packet.data(),
                                          packet.size(), now);
  if (status != 0) fail("read_pkt", ngtcp2_strerror(status));
}

std::int64_t Side::open_stream() {
  std::int64_t stream = -1;
  const int status = ngtcp2_conn_open_bidi_stream(connection_, &stream, nullptr);
  if (status != 0) fail("open_bidi_stream", ngtcp2_strerror(status));
  return stream;
}

bool Side::established() const { return ngtcp2_conn_get_handshake_completed(connection_) != 0; }

std::uint64_t Side::congestion_window() const {
  ngtcp2_conn_info info;
  ngtcp2_conn_get_conn_info(connection_, &info);
  return info.cwnd;
}
