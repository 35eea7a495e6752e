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

// Runs a handshake. ngtcp2 and GnuTLS handle Initial and Handshake packets. 0-RTT and 1-RTT secrets
// are reported and never installed in ngtcp2, so that it cannot emit such packets
// (docs/decisions/0001-handshake-takeover.md).

// An event of a handshake. Events are reported in order.
struct HandshakeEvent {
  enum class Kind : std::uint8_t {
    kEarlySecret,     // 0-RTT: client sends with it, server receives with it
    kEarlyRejected,   // client: nothing more may be sent with it
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
  // With `version_mismatch`: a version that both sides speak; 0 when there is none. The client may
  // begin again with `version` = this and `original_version` = the refused one.
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
  ConnectionId client_destination;  // destination of the client's Initial
  ConnectionId client_source;
  // Destination of the first Initial. It differs from `client_destination` after a Retry.
  ConnectionId original_destination;
  bool retried = false;  // `token` is from a Retry
  // Verified token of the Initial (crypto/tokens.h), which lifts the anti-amplification limit.
  // Empty if it is unknown or too old.
  std::vector<std::uint8_t> token;
  AddressPair path;
  // Network whose share of the replay record counts; empty for no bound
  std::vector<std::uint8_t> client_network;
  std::uint32_t version = k_version_1;  // of the client's Initial
  // Versions to upgrade a client to, the first that it speaks (RFC 9368 §2.3). If empty, keeps
  // `version`.
  std::vector<std::uint32_t> preferred_versions;
  Duration timeout = std::chrono::seconds(10);
  std::function<void(std::string_view line)> key_log;
};

class HandshakeState;

class Handshake {
 public:
  // Starts a handshake. `random` outlives it. A client that resumes has its 0-RTT secret at once.
  static Result<std::unique_ptr<Handshake>, HandshakeFailure> make_client(
      const ClientHandshakeConfig& config, Random& random, Time now);
  static Result<std::unique_ptr<Handshake>, HandshakeFailure> make_server(
      const ServerHandshakeConfig& config, Random& random, Time now);
  ~Handshake();

  // Receives a datagram whose packets after the long headers have been zeroed (`split_datagram`). A
  // zero tail reads as padding, while a shorter datagram would be an undersized Initial.
  void receive(MutableBytes datagram, Ecn ecn, Time now);
  // Writes one datagram of at most `out.size()` bytes, which must be at least 1200. Returns 0 when
  // there is none.
  std::size_t transmit(MutableBytes out, Time now);
  Time next_timeout() const;
  void on_timeout(Time now);
  std::optional<HandshakeEvent> poll_event();

  // Failure, after which `transmit` returns the CONNECTION_CLOSE, if one is due, and then nothing.
  // A client can still fail between `completed` and `release_connection`.
  const std::optional<HandshakeFailure>& failure() const;
  // Ends the handshake from outside. `transmit` then returns a CONNECTION_CLOSE.
  void close(TransportErrorCode code, std::string_view reason, Time now);

  // Server: whether a Handshake packet was read, which proves that the client receives what is sent
  // to its address (RFC 9000 §8.1).
  bool address_validated() const;
  bool completed() const;            // TLS is done and the peer's parameters are known
  bool early_data_accepted() const;  // once completed
  bool resumed() const;
  std::string alpn() const;       // on a server from the first secret on
  std::uint32_t version() const;  // negotiated
  CipherSuite suite() const;
  // Connection id to send to: the peer's source id, which it may have changed with its first
  // response
  ConnectionId destination() const;
  Duration smoothed_rtt() const;  // zero when not measured
  // Client: receives TLS post-handshake messages from 1-RTT CRYPTO frames. Only NewSessionTicket is
  // allowed; any other message is an error that closes the connection.
  TransportStatus receive_post_handshake(Bytes data);
  // Frees the ngtcp2 connection; a client keeps its TLS session for tickets. A server calls this
  // when completed, and a client when HANDSHAKE_DONE has arrived.
  void release_connection();

 private:
  explicit Handshake(std::unique_ptr<HandshakeState> state);
  std::unique_ptr<HandshakeState> state_;
};

}  // namespace sheaf::quic
