#pragma once

#include "crypto/handshake.h"
#include "crypto/ngtcp2_types.h"
#include "crypto/tls_session.h"

namespace sheaf::quic {

// RFC 9001 §4.8: a TLS alert as a QUIC error.
TransportErrorCode crypto_error(std::uint8_t alert);

HandshakeFailure failure_from_tls(const TlsFailure& failure);
// What ngtcp2's return value means.
HandshakeFailure failure_from_ngtcp2(int error);
// What the peer said in its CONNECTION_CLOSE.
HandshakeFailure failure_from_peer(const ngtcp2_ccerr& close);

}  // namespace sheaf::quic
