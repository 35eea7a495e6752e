#pragma once

#include <gnutls/gnutls.h>

#include "util/bytes.h"

namespace sheaf::quic {

// Returns whether TLS answers this ClientHello with a HelloRetryRequest (RFC 8446 §4.1.4): GnuTLS
// wants the key share of the first of the client's groups that is among its own. `body` is the
// message without its header. Returns false for a malformed message, which fails the handshake
// anyway.
bool lacks_key_share(Bytes body, gnutls_priority_t priority);
// Returns the first ticket that it offers (RFC 8446 §4.2.11), the only one that GnuTLS reads; empty
// when there is none.
Bytes offered_ticket(Bytes body);

}  // namespace sheaf::quic
