#pragma once

#include "crypto/tls_session.h"

namespace sheaf::quic {

// The functions that GnuTLS calls during a handshake. Each finds its session by the session
// pointer.
struct TlsSession::Callbacks {
  // Returns 0 or a GnuTLS error.
  static int install(TlsSession& session);

  static int on_secrets(gnutls_session_t native, gnutls_record_encryption_level_t level,
                        const void* receive, const void* send, std::size_t length);
  static int on_message(gnutls_session_t native, gnutls_record_encryption_level_t level,
                        gnutls_handshake_description_t type, const void* data, std::size_t length);
  // Server: remembers whose key sealed the ticket of a NewSessionTicket message.
  static void note_ticket(TlsSession& session, Bytes message);
  static int on_alert(gnutls_session_t native, gnutls_record_encryption_level_t level,
                      gnutls_alert_level_t severity, gnutls_alert_description_t alert);
  static int on_parameters(gnutls_session_t native, const unsigned char* data, std::size_t length);
  static int write_parameters(gnutls_session_t native, gnutls_buffer_t out);
  static int around_message(gnutls_session_t native, unsigned type, unsigned when,
                            unsigned incoming, const gnutls_datum_t* message);
  static void before_client_hello(TlsSession& session, Bytes body);
  static int after_message(gnutls_session_t native, unsigned type);
  static int on_certificate(gnutls_session_t native);
  static int on_key_log(gnutls_session_t native, const char* label, const gnutls_datum_t* secret);
};

}  // namespace sheaf::quic
