#pragma once

#include <vector>

#include "crypto/tls_session.h"
#include "wire/transport_error.h"

namespace sheaf::quic {

// Client: TLS messages that follow the handshake, in 1-RTT CRYPTO frames.
class PostHandshakeReader {
 public:
  // Only NewSessionTicket is allowed; any other message is an error that closes the connection.
  TransportStatus read(Bytes data, TlsSession& tls);
  // The ticket that `read` gives to TLS allows early data.
  bool early_data() const { return early_data_; }

 private:
  TransportStatus read_ticket(Bytes message, TlsSession& tls);

  std::vector<std::uint8_t> incomplete_;  // the start of a message
  bool early_data_ = false;
};

// A TLS message came before the handshake was complete, or to a server.
TransportError unexpected_post_handshake();

}  // namespace sheaf::quic
