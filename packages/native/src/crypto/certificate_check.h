#pragma once

#include <gnutls/gnutls.h>

#include <optional>
#include <string>

#include "crypto/tls_context.h"

namespace sheaf::quic {

// A fatal TLS alert (RFC 8446 §6.2) and the sentence for it.
struct TlsFailure {
  gnutls_alert_description_t alert = GNUTLS_A_INTERNAL_ERROR;
  std::string reason;
};

// Checks the certificates that the server has just sent to a client. Uses the system's clock.
std::optional<TlsFailure> check_certificate(gnutls_session_t session, const TlsContext& context,
                                            const std::string& server_name);

}  // namespace sheaf::quic
