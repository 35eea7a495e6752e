#pragma once

#include "crypto/handshake.h"
#include "crypto/ngtcp2_types.h"
#include "crypto/tls_session.h"

namespace sheaf::quic {

// Converts a TLS alert to a QUIC error (RFC 9001 §4.8).
TransportErrorCode crypto_error(std::uint8_t alert);

HandshakeFailure failure_from_tls(const TlsFailure& failure);
// Explains the return value of ngtcp2.
HandshakeFailure failure_from_ngtcp2(int error);
// Explains the peer's CONNECTION_CLOSE.
HandshakeFailure failure_from_peer(const ngtcp2_ccerr& close);

}  // namespace sheaf::quic
