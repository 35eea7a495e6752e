#include "crypto/tls_callbacks.h"

#include <utility>

#include "crypto/client_hello.h"

namespace sheaf::quic {
namespace {

constexpr unsigned k_quic_transport_parameters = 0x39;  // RFC 9001 §8.2

TlsSession& session_of(gnutls_session_t native) {
  return *static_cast<TlsSession*>(gnutls_session_get_ptr(native));
}

TlsLevel from_gnutls(gnutls_record_encryption_level_t level) {
  switch (level) {
    case GNUTLS_ENCRYPTION_LEVEL_INITIAL:
      return TlsLevel::kInitial;
    case GNUTLS_ENCRYPTION_LEVEL_EARLY:
      return TlsLevel::kEarly;
    case GNUTLS_ENCRYPTION_LEVEL_HANDSHAKE:
      return TlsLevel::kHandshake;
    case GNUTLS_ENCRYPTION_LEVEL_APPLICATION:
      break;
  }
  return TlsLevel::kApplication;
}

CipherSuite suite_of(gnutls_cipher_algorithm_t cipher) {
  switch (cipher) {
    case GNUTLS_CIPHER_AES_256_GCM:
      return CipherSuite::kAes256GcmSha384;
    case GNUTLS_CIPHER_CHACHA20_POLY1305:
      return CipherSuite::kChacha20Poly1305Sha256;
    default:
      return CipherSuite::kAes128GcmSha256;
  }
}

Bytes bytes(const void* data, std::size_t length) {
  return {static_cast<const std::uint8_t*>(data), data == nullptr ? 0 : length};
}

void append_hex(std::string& out, const gnutls_datum_t& data) {
  constexpr char digits[] = "0123456789abcdef";
  for (unsigned i = 0; i < data.size; ++i) {
    out += digits[data.data[i] >> 4];
    out += digits[data.data[i] & 0x0f];
  }
}

}  // namespace

int TlsSession::Callbacks::install(TlsSession& session) {
  gnutls_session_t native = session.session_;
  gnutls_session_set_ptr(native, &session);
  gnutls_handshake_set_secret_function(native, on_secrets);
  gnutls_handshake_set_read_function(native, on_message);
  gnutls_alert_set_read_function(native, on_alert);
  gnutls_handshake_set_hook_function(native, GNUTLS_HANDSHAKE_ANY, GNUTLS_HOOK_BOTH,
                                     around_message);
  // Otherwise GnuTLS itself would obey SSLKEYLOGFILE.
  gnutls_session_set_keylog_function(native, session.key_log_ ? on_key_log : nullptr);
  if (session.context_->role() == Role::kClient) {
    gnutls_session_set_verify_function(native, on_certificate);
  }
  return gnutls_session_ext_register(
      native, "QUIC transport parameters", k_quic_transport_parameters, GNUTLS_EXT_TLS,
      on_parameters, write_parameters, nullptr, nullptr, nullptr,
      GNUTLS_EXT_FLAG_TLS | GNUTLS_EXT_FLAG_CLIENT_HELLO | GNUTLS_EXT_FLAG_EE);
}

int TlsSession::Callbacks::on_secrets(gnutls_session_t native,
                                      gnutls_record_encryption_level_t level, const void* receive,
                                      const void* send, std::size_t length) {
  TlsSession& session = session_of(native);
  const TlsLevel quic_level = from_gnutls(level);
  const auto cipher =
      quic_level == TlsLevel::kEarly ? gnutls_early_cipher_get(native) : gnutls_cipher_get(native);
  const bool accepted = session.observer_.on_secrets(quic_level, suite_of(cipher),
                                                     bytes(receive, length), bytes(send, length));
  return accepted ? 0 : GNUTLS_E_INTERNAL_ERROR;
}

int TlsSession::Callbacks::on_message(gnutls_session_t native,
                                      gnutls_record_encryption_level_t level,
                                      gnutls_handshake_description_t type, const void* data,
                                      std::size_t length) {
  // RFC 9001 §8.4: QUIC has no middlebox compatibility mode.
  if (type == GNUTLS_HANDSHAKE_CHANGE_CIPHER_SPEC) return 0;
  TlsSession& session = session_of(native);
  if (type == GNUTLS_HANDSHAKE_NEW_SESSION_TICKET) note_ticket(session, bytes(data, length));
  const bool accepted = session.observer_.on_message(from_gnutls(level), bytes(data, length));
  return accepted ? 0 : GNUTLS_E_INTERNAL_ERROR;
}

void TlsSession::Callbacks::note_ticket(TlsSession& session, Bytes message) {
  Reader reader{message};
  reader.read_bytes(4 + 4 + 4);         // header, lifetime, age_add
  reader.read_bytes(reader.read_u8());  // nonce
  session.context_->ticket_keys().note(session.ticket_generation_,
                                       reader.read_bytes(reader.read_u16()));
}

int TlsSession::Callbacks::on_alert(gnutls_session_t native, gnutls_record_encryption_level_t,
                                    gnutls_alert_level_t severity,
                                    gnutls_alert_description_t alert) {
  TlsSession& session = session_of(native);
  if (severity == GNUTLS_AL_FATAL && session.failure_.reason.empty()) {
    const char* name = gnutls_alert_get_name(alert);
    session.failure_ = {alert, name != nullptr ? name : "TLS alert"};
  }
  return 0;
}

int TlsSession::Callbacks::on_parameters(gnutls_session_t native, const unsigned char* data,
                                         std::size_t length) {
  TlsSession& session = session_of(native);
  session.has_peer_parameters_ = true;
  return session.observer_.on_peer_parameters(bytes(data, length))
             ? 0
             : GNUTLS_E_RECEIVED_ILLEGAL_PARAMETER;
}

int TlsSession::Callbacks::write_parameters(gnutls_session_t native, gnutls_buffer_t out) {
  std::vector<std::uint8_t> extension;
  if (!session_of(native).observer_.write_parameters(extension)) return GNUTLS_E_INTERNAL_ERROR;
  return gnutls_buffer_append_data(out, extension.data(), extension.size());
}

int TlsSession::Callbacks::around_message(gnutls_session_t native, unsigned type, unsigned when,
                                          unsigned incoming, const gnutls_datum_t* message) {
  if (incoming == 0) return 0;
  if (when == GNUTLS_HOOK_POST) return after_message(native, type);
  if (type == GNUTLS_HANDSHAKE_CLIENT_HELLO) {
    before_client_hello(session_of(native), bytes(message->data, message->size));
  }
  if (type == GNUTLS_HANDSHAKE_HELLO_RETRY_REQUEST &&
      !session_of(native).observer_.on_hello_retry_request()) {
    return GNUTLS_E_INTERNAL_ERROR;
  }
  return 0;
}

void TlsSession::Callbacks::before_client_hello(TlsSession& session, Bytes body) {
  // RFC 8446 §4.2.10: there is no early data around a HelloRetryRequest. GnuTLS would accept it
  // before it looks at the key shares, and the handshake would fail.
  const bool again = std::exchange(session.hello_seen_, true);
  // GnuTLS takes no other key once it has read a ticket.
  const Bytes ticket = offered_ticket(body);
  if (!again && !ticket.empty()) {
    session.use_ticket_keys(
        session.context_->ticket_keys().of(ticket, session.ticket_binding_, tls_clock_now()));
  }
  session.context_->early_data().refuse(again ||
                                        lacks_key_share(body, session.context_->priority()));
}

int TlsSession::Callbacks::after_message(gnutls_session_t native, unsigned type) {
  TlsSession& session = session_of(native);
  if (type == GNUTLS_HANDSHAKE_CLIENT_HELLO) {
    // Checking both this early saves the rest of the handshake (RFC 9001 §8.1, §8.2).
    gnutls_datum_t protocol{};
    if (gnutls_alpn_get_selected_protocol(native, &protocol) != 0) {
      return GNUTLS_E_NO_APPLICATION_PROTOCOL;
    }
    if (!session.has_peer_parameters_) return GNUTLS_E_MISSING_EXTENSION;
  }
  if (type == GNUTLS_HANDSHAKE_NEW_SESSION_TICKET) {
    gnutls_datum_t state{};
    if (gnutls_session_get_data2(native, &state) == 0) {
      session.observer_.on_session_ticket(bytes(state.data, state.size));
      gnutls_memset(state.data, 0, state.size);
      gnutls_free(state.data);
    }
  }
  return 0;
}

int TlsSession::Callbacks::on_certificate(gnutls_session_t native) {
  TlsSession& session = session_of(native);
  const auto failure = check_certificate(native, *session.context_, session.server_name_);
  if (!failure) return 0;
  session.failure_ = *failure;
  return GNUTLS_E_CERTIFICATE_VERIFICATION_ERROR;
}

int TlsSession::Callbacks::on_key_log(gnutls_session_t native, const char* label,
                                      const gnutls_datum_t* secret) {
  gnutls_datum_t client_random{};
  gnutls_datum_t server_random{};
  gnutls_session_get_random(native, &client_random, &server_random);
  std::string line(label);
  line += ' ';
  append_hex(line, client_random);
  line += ' ';
  append_hex(line, *secret);
  session_of(native).key_log_(line);
  return 0;
}

}  // namespace sheaf::quic
