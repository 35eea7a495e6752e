#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "crypto/datagram.h"
#include "crypto/session_state.h"
#include "crypto/tls_config.h"
#include "crypto/tokens.h"
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

// What a handshake reports, in the order in which it happened.
struct HandshakeEvent {
  enum class Kind : std::uint8_t {
    kEarlySecret,     // 0-RTT: client sends with it, server receives with it
    kEarlyRejected,   // client: nothing more is to be sent with it
    kSendSecret,      // 1-RTT; on a server before the client's Finished arrived (0.5-RTT)
    kReceiveSecret,   // 1-RTT
    kPeerParameters,  // raw extension bytes in `data`
    kCompleted,       // TLS done; on the server this is also "confirmed"
    kTicket,          // server: TLS messages to send in 1-RTT CRYPTO frames, in `data`
    kSessionTicket,   // client: the serialised TLS session in `data`
  };
  Kind kind;
  TrafficSecret secret{};
  std::vector<std::uint8_t> data{};
};

struct HandshakeFailure {
  TransportErrorCode code = TransportErrorCode::kInternalError;
  std::string reason;    // "certificate has expired", "no application protocol in common"
  bool silent = false;   // drop the attempt without a word
  bool timeout = false;  // nobody answered
  bool by_peer = false;  // the peer closed with `code`; nothing is to be sent
  bool version_mismatch = false;
  // With `version_mismatch`: a version that both speak; 0 when there is none. The client may begin
  // again with `version` = this and `original_version` = the one that was refused.
  std::uint32_t common_version = 0;
};

struct ClientHandshakeConfig {
  std::shared_ptr<TlsContext> tls;
  std::string server_name;  // DNS name or IP address
  TransportParameters parameters;
  ConnectionId source;  // at least 1 byte
  AddressPair path;
  std::optional<SessionState> session;
  std::uint32_t version = k_version_1;
  std::uint32_t original_version = 0;  // 0: this is the first attempt (RFC 9368 §4)
  Duration timeout = std::chrono::seconds(10);
  Duration initial_rtt = std::chrono::milliseconds(333);
  std::function<void(std::string_view line)> key_log;  // SSLKEYLOGFILE lines; empty: none
};

struct ServerHandshakeConfig {
  std::shared_ptr<TlsContext> tls;
  TransportParameters parameters;
  ConnectionId source;              // ours, also in initial_source_connection_id
  ConnectionId client_destination;  // the client's Initial's destination
  ConnectionId client_source;
  // Of the first Initial; differs from `client_destination` after a Retry.
  ConnectionId original_destination;
  bool retried = false;  // `token` is from a Retry
  // That the Initial carried and that was verified (crypto/tokens.h); it lifts the
  // anti-amplification limit. Empty for one that is unknown or too old.
  std::vector<std::uint8_t> token;
  AddressPair path;
  // Shares what the replay record has room for; empty: not bounded.
  std::vector<std::uint8_t> client_network;
  std::uint32_t version = k_version_1;  // of the client's Initial
  // Upgrades a client to the first of these that it speaks (RFC 9368 §2.3); empty keeps `version`.
  std::vector<std::uint32_t> preferred_versions;
  Duration timeout = std::chrono::seconds(10);
  std::function<void(std::string_view line)> key_log;
};

class Handshake {
 public:
  // `random` outlives the handshake. A client that resumes has its 0-RTT secret at once.
  static Result<std::unique_ptr<Handshake>, HandshakeFailure> make_client(
      const ClientHandshakeConfig& config, Random& random, Time now);
  static Result<std::unique_ptr<Handshake>, HandshakeFailure> make_server(
      const ServerHandshakeConfig& config, Random& random, Time now);
  ~Handshake();

  // A datagram whose packets after the long headers have been zeroed (`split_datagram`): a zero
  // tail reads as padding, while a shorter datagram would be an undersized Initial.
  void receive(MutableBytes datagram, Ecn ecn, Time now);
  // Writes one datagram of at most `out.size()` bytes, which is at least 1200; 0 when there is
  // none.
  std::size_t transmit(MutableBytes out, Time now);
  Time next_timeout() const;
  void on_timeout(Time now);
  std::optional<HandshakeEvent> poll_event();

  // After a failure `transmit` gives the CONNECTION_CLOSE, if one is due, and then nothing. A
  // client can still fail between `completed` and `release_connection`.
  const std::optional<HandshakeFailure>& failure() const;
  // Ends the handshake from outside; `transmit` then gives a CONNECTION_CLOSE.
  void close(TransportErrorCode code, std::string_view reason, Time now);

  // Server: a Handshake packet was read, so whoever answers sees what is sent to its address
  // (RFC 9000 §8.1).
  bool address_validated() const;
  bool completed() const;            // TLS is done and the peer's parameters are known
  bool early_data_accepted() const;  // once completed
  bool resumed() const;
  std::string alpn() const;       // on a server as soon as there is a secret
  std::uint32_t version() const;  // negotiated
  CipherSuite suite() const;
  // Ours for the peer: the peer's source id, which it may have changed with its first answer.
  ConnectionId destination() const;
  Duration smoothed_rtt() const;  // zero when not measured
  // Client: TLS post-handshake messages out of 1-RTT CRYPTO frames (NewSessionTicket only; anything
  // else is an error that closes the connection).
  TransportStatus receive_post_handshake(Bytes data);
  // Frees the ngtcp2 connection; a client keeps its TLS session for tickets. A server calls it when
  // completed, a client when HANDSHAKE_DONE has arrived.
  void release_connection();

 private:
  Handshake();
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace sheaf::quic
