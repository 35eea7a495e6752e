#pragma once

#include <vector>

#include "connection/seed.h"

namespace sheaf::quic {

struct ConnectionParts;

// Takes a connection from its seed to the confirmed handshake: keys, the peer's parameters, the
// first path's address, tokens and TLS messages.
class Establishment {
 public:
  explicit Establishment(ConnectionParts& parts) : parts_(parts) {}

  // 0-RTT: a client sends with the secret, a server receives with it. `remembered` are the peer's
  // parameters of the earlier connection (client) or its present ones (server).
  TransportStatus start_early(const TrafficSecret& secret, const ConnectionSeed& remembered,
                              Time now);
  void reject_early_data(Time now);
  TransportStatus establish(const ConnectionSeed& seed, Time now);
  void install_receive_secret(const TrafficSecret& secret, Time now);
  // Server: TLS is done. Sends HANDSHAKE_DONE and these TLS messages (tickets) in CRYPTO frames.
  void confirm_handshake(Bytes post_handshake_messages, Time now);
  // Sets the round trip time that the handshake measured, until a packet measures another one.
  // Zero: not measured.
  void set_initial_rtt(Duration rtt);
  // The first path is known to carry UDP payloads of this size.
  void set_carried(std::uint16_t size, Time now);
  // Lets MTU discovery on the first path begin with this size.
  void try_first(std::uint16_t size);

  // --- the address of the first path (RFC 9000 §8.1) ------------------------------------------

  // Counts bytes of Initial and Handshake packets.
  void count_handshake_bytes(std::uint64_t received, std::uint64_t sent);
  // Returns how many bytes may be sent before the address is validated.
  std::uint64_t amplification_allowance() const;
  void validate_address();

  // --- tokens and TLS messages ----------------------------------------------------------------

  // Server: gives the client this address token in NEW_TOKEN.
  void send_new_token(Bytes token);
  Bytes address_token() const;              // client, after NewTokenEvent
  std::vector<std::uint8_t> read_crypto();  // client, after PostHandshakeCryptoEvent

 private:
  ConnectionParts& parts_;
};

}  // namespace sheaf::quic
