#include "crypto/ngtcp2_callbacks.h"

#include <ngtcp2/ngtcp2_crypto.h>

#include "crypto/handshake_state.h"

namespace sheaf::quic {

namespace {

Random& random_of(const ngtcp2_rand_ctx& context) {
  return *static_cast<Random*>(context.native_handle);
}

HandshakeState& state_of(void* user_data) { return *static_cast<HandshakeState*>(user_data); }

void fill_random(std::uint8_t* out, std::size_t length, const ngtcp2_rand_ctx* context) {
  random_of(*context).fill({out, length});
}

}  // namespace

ngtcp2_settings make_settings(Random& random, Time now, Duration timeout) {
  ngtcp2_settings settings;
  ngtcp2_settings_default(&settings);
  settings.initial_ts = to_nanoseconds(now);
  settings.handshake_timeout = static_cast<ngtcp2_duration>(timeout.count());
  settings.rand_ctx.native_handle = &random;
  // RFC 9000 §14.1: the size that every path carries. The engine discovers larger sizes.
  settings.max_tx_udp_payload_size = NGTCP2_MAX_UDP_PAYLOAD_SIZE;
  settings.no_pmtud = 1;
  return settings;
}

ngtcp2_callbacks make_callbacks() {
  ngtcp2_callbacks callbacks{};
  callbacks.client_initial = ngtcp2_crypto_client_initial_cb;
  callbacks.recv_client_initial = ngtcp2_crypto_recv_client_initial_cb;
  callbacks.recv_retry = ngtcp2_crypto_recv_retry_cb;
  callbacks.version_negotiation = ngtcp2_crypto_version_negotiation_cb;
  callbacks.encrypt = ngtcp2_crypto_encrypt_cb;
  callbacks.decrypt = ngtcp2_crypto_decrypt_cb;
  callbacks.hp_mask = ngtcp2_crypto_hp_mask_cb;
  callbacks.delete_crypto_aead_ctx = [](ngtcp2_conn* conn, ngtcp2_crypto_aead_ctx* keys,
                                        void* state) {
    ngtcp2_crypto_delete_crypto_aead_ctx_cb(conn, keys, state);
    state_of(state).initial_keys_discarded = true;
  };
  callbacks.delete_crypto_cipher_ctx = ngtcp2_crypto_delete_crypto_cipher_ctx_cb;
  callbacks.rand = fill_random;
  callbacks.recv_crypto_data = [](ngtcp2_conn*, ngtcp2_encryption_level level, std::uint64_t,
                                  const std::uint8_t* data, std::size_t length, void* state) {
    return state_of(state).on_crypto_data(level, {data, length});
  };
  callbacks.recv_version_negotiation = [](ngtcp2_conn*, const ngtcp2_pkt_hd*,
                                          const std::uint32_t* versions, std::size_t count,
                                          void* state) {
    state_of(state).on_version_negotiation(versions, count);
    return 0;
  };
  // ngtcp2 requires these three, but never calls them without 1-RTT keys.
  callbacks.update_key = ngtcp2_crypto_update_key_cb;
  callbacks.get_path_challenge_data = ngtcp2_crypto_get_path_challenge_data_cb;
  callbacks.get_new_connection_id = [](ngtcp2_conn*, ngtcp2_cid*, std::uint8_t*, std::size_t,
                                       void*) { return NGTCP2_ERR_CALLBACK_FAILURE; };
  return callbacks;
}

}  // namespace sheaf::quic
