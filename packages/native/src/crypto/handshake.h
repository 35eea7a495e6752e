#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "crypto/traffic_secret.h"
#include "util/address.h"
#include "util/random.h"
#include "util/time.h"
#include "wire/transport_error.h"
#include "wire/transport_parameters.h"
#include "wire/types.h"

namespace sheaf::quic {

// ngtcp2 and GnuTLS drive Initial and Handshake packets; 0-RTT and 1-RTT secrets are handed out and
// never installed in ngtcp2, so that it cannot emit a packet of ours
// (docs/decisions/0001-handshake-takeover.md).

// Certificate, trust, ticket keys: made once, shared by many handshakes of one server or client.
class TlsContext;

struct TlsServerConfig {
  std::string certificate_pem;
  std::string private_key_pem;
  std::vector<std::string> alpn;  // most wanted first
  // Keeps resumption possible across `updateCertificate`; random when empty. 64 bytes.
  std::vector<std::uint8_t> ticket_key;
  bool early_data = true;
};
struct TlsClientConfig {
  std::vector<std::string> alpn;
  std::string certificate_authority_pem;  // beside the system's trust store; may be empty
  std::vector<std::array<std::uint8_t, 32>> certificate_hashes;  // SHA-256 of the leaf, instead
  bool insecure = false;
};
// The error is a sentence that names what is wrong (bad PEM, key does not match).
Result<std::shared_ptr<TlsContext>, std::string> make_tls_server_context(const TlsServerConfig&);
Result<std::shared_ptr<TlsContext>, std::string> make_tls_client_context(const TlsClientConfig&);

// What a client stores to resume: TLS ticket, the server's parameters, an address token.
struct SessionState {
  std::vector<std::uint8_t> tls_session;
  std::vector<std::uint8_t> peer_parameters;  // raw extension
  std::vector<std::uint8_t> token;            // NEW_TOKEN
  std::string alpn;
};
std::vector<std::uint8_t> serialize(const SessionState& session);
std::optional<SessionState> parse_session_state(Bytes bytes);

// What a handshake reports, in the order in which it happened.
struct HandshakeEvent {
  enum class Kind : std::uint8_t {
    kEarlySecret,    // 0-RTT: client sends with it, server receives with it
    kSendSecret,     // 1-RTT; on a server before the client's Finished arrived (0.5-RTT)
    kReceiveSecret,  // 1-RTT
    kPeerParameters, // raw extension bytes in `data`; a HelloRetryRequest may repeat it
    kCompleted,      // TLS done; on the server this is also "confirmed"
    kTicket,         // server: TLS messages to send in 1-RTT CRYPTO frames, in `data`
    kSessionTicket,  // client: the serialised TLS session in `data`
  };
  Kind kind;
  TrafficSecret secret{};
  std::vector<std::uint8_t> data{};
};

struct HandshakeFailure {
  TransportErrorCode code = TransportErrorCode::kInternalError;
  std::string reason;    // "certificate has expired", "no application protocol"
  bool silent = false;   // drop the attempt without a word
  bool timeout = false;  // nobody answered
  bool version_mismatch = false;
};

struct ClientHandshakeConfig {
  std::shared_ptr<TlsContext> tls;
  std::string server_name;
  TransportParameters parameters;
  ConnectionId source;  // at least 1 byte
  AddressPair path;
  std::optional<SessionState> session;
  std::uint32_t version = k_version_1;
  Duration timeout = std::chrono::seconds(10);
  Duration initial_rtt = std::chrono::milliseconds(333);
  std::function<void(std::string_view line)> key_log;  // SSLKEYLOGFILE lines; empty: none
};

struct ServerHandshakeConfig {
  std::shared_ptr<TlsContext> tls;
  TransportParameters parameters;
  ConnectionId source;                // ours, also in initial_source_connection_id
  ConnectionId client_destination;    // the client's Initial's destination
  ConnectionId client_source;
  // Of the first Initial; differs from `client_destination` after a Retry.
  ConnectionId original_destination;
  bool retried = false;
  std::vector<std::uint8_t> token;  // that the Initial carried
  AddressPair path;
  std::uint32_t version = k_version_1;
  Duration timeout = std::chrono::seconds(10);
  std::function<void(std::string_view line)> key_log;
};

class Handshake {
 public:
  static Result<std::unique_ptr<Handshake>, HandshakeFailure> make_client(
      const ClientHandshakeConfig& config, Random& random, Time now);
  static Result<std::unique_ptr<Handshake>, HandshakeFailure> make_server(
      const ServerHandshakeConfig& config, Random& random, Time now);
  ~Handshake();

  // A datagram whose packets after the long headers have been zeroed (`split_datagram`): a zero tail
  // reads as padding, while a shorter datagram would be an undersized Initial.
  void receive(MutableBytes datagram, Ecn ecn, Time now);
  // Writes one datagram of at most `out.size()` bytes; 0 when there is none.
  std::size_t transmit(MutableBytes out, Time now);
  Time next_timeout() const;
  void on_timeout(Time now);
  std::optional<HandshakeEvent> poll_event();

  // After a failure `transmit` gives the CONNECTION_CLOSE, if one is due, and then nothing.
  const std::optional<HandshakeFailure>& failure() const;
  // Ends the handshake from outside; `transmit` then gives a CONNECTION_CLOSE.
  void close(TransportErrorCode code, std::string_view reason, Time now);

  bool completed() const;            // TLS is done and the peer's parameters are known
  bool early_data_accepted() const;  // once completed
  bool resumed() const;
  std::string alpn() const;
  std::uint32_t version() const;  // negotiated
  CipherSuite suite() const;
  // Ours for the peer: the peer's source id, which it may have changed with its first answer.
  ConnectionId destination() const;
  Duration smoothed_rtt() const;  // zero when not measured
  // Client: TLS post-handshake messages out of 1-RTT CRYPTO frames (NewSessionTicket only; anything
  // else is an error that closes the connection).
  TransportStatus receive_post_handshake(Bytes data);
  // Frees the ngtcp2 connection; a client keeps its TLS session for tickets.
  void release_connection();

 private:
  Handshake();
  struct State;
  std::unique_ptr<State> state_;
};

// Retry and address validation tokens (RFC 9000 §8.1). 32 byte secret.
std::vector<std::uint8_t> make_retry_token(Bytes secret, std::uint32_t version,
                                           const Address& remote, const ConnectionId& retry_source,
                                           const ConnectionId& original_destination, Time now);
std::optional<ConnectionId> verify_retry_token(Bytes secret, std::uint32_t version, Bytes token,
                                               const Address& remote, const ConnectionId& destination,
                                               Duration lifetime, Time now);
std::vector<std::uint8_t> make_address_token(Bytes secret, const Address& remote, Time now);
bool verify_address_token(Bytes secret, Bytes token, const Address& remote, Duration lifetime,
                          Time now);
bool is_retry_token(Bytes token);

// Whole datagrams that need no connection; 0 when `out` is too small.
std::size_t write_retry(MutableBytes out, std::uint32_t version, const ConnectionId& client_source,
                        const ConnectionId& retry_source, const ConnectionId& original_destination,
                        Bytes token);
std::size_t write_version_negotiation(MutableBytes out, std::uint8_t unused_random, Bytes source,
                                      Bytes destination);
// RFC 9000 §5.1.1, §17: an Initial with CONNECTION_CLOSE for an attempt that is refused at once.
std::size_t write_connection_refused(MutableBytes out, std::uint32_t version,
                                     const ConnectionId& client_source,
                                     const ConnectionId& client_destination);

// First look at a datagram from the network.
struct DatagramHeader {
  enum class Kind : std::uint8_t { kShort, kLong, kUnsupportedVersion, kInvalid };
  Kind kind = Kind::kInvalid;
  std::uint32_t version = 0;
  Bytes destination;  // for kShort: everything after the first byte, cut to the id length by the caller
  Bytes source;
};
DatagramHeader peek_datagram(Bytes datagram, std::size_t short_id_length);
// A client's first packet that may open a connection (RFC 9000 §14.1: at least 1200 bytes, an id of
// at least 8 bytes).
struct InitialHeader {
  std::uint32_t version = 0;
  ConnectionId destination;
  ConnectionId source;
  std::vector<std::uint8_t> token;
};
std::optional<InitialHeader> accept_initial(Bytes datagram);

// Deterministic from a static key, so that a server that lost its state can still reset
// (RFC 9000 §10.3.2).
StatelessResetToken stateless_reset_token(Bytes secret, const ConnectionId& id);

}  // namespace sheaf::quic
