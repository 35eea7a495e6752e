#pragma once

#include <deque>

#include "crypto/handshake.h"
#include "crypto/handshake_failure.h"
#include "crypto/handshake_parameters.h"
#include "crypto/ngtcp2_types.h"
#include "crypto/socket_address.h"
#include "crypto/tls_session.h"

namespace sheaf::quic {

// First byte of a stored TLS session. GnuTLS's own format follows.
inline constexpr std::uint8_t k_ticket_without_early_data = 0;
inline constexpr std::uint8_t k_ticket_with_early_data = 1;

// The ngtcp2 connection and the TLS session of one handshake, and what they have reported
struct Handshake::State final : TlsObserver {
  State(Role role_of_this_side, Random& random_source, const AddressPair& path);
  ~State() override;

  // --- TlsObserver
  bool on_secrets(TlsLevel level, CipherSuite suite, Bytes receive, Bytes send) override;
  bool on_message(TlsLevel level, Bytes message) override;
  bool on_peer_parameters(Bytes extension) override;
  bool write_parameters(std::vector<std::uint8_t>& out) override;
  bool on_hello_retry_request() override;
  void on_session_ticket(Bytes session) override;

  // --- called by ngtcp2: 0 or its error code
  int on_crypto_data(ngtcp2_encryption_level level, Bytes data);
  void on_version_negotiation(const std::uint32_t* versions, std::size_t count);

  // Returns settings and callbacks that both roles share.
  ngtcp2_settings make_settings(Time now, Duration timeout) const;
  ngtcp2_callbacks make_callbacks() const;

  void read(MutableBytes datagram, Ecn ecn, Time now);
  // Records a failure. Only the first one counts.
  void fail(HandshakeFailure reason);
  std::size_t write_close(MutableBytes out, Time now);
  // Checks whether TLS is done, after ngtcp2 has returned.
  void report_completion();
  void free_connection();
  Duration measured_rtt() const;
  void emit(HandshakeEvent event);

  // --- server_handshake.cc
  bool start_server(const ServerHandshakeConfig& config, Time now);
  // Keeps the tail of a ClientHello that came before its head.
  void hold_back(MutableBytes datagram, Ecn ecn, Time now);
  void read_held_back(Time now);
  void finish_server();
  // --- client_handshake.cc
  bool start_client(const ClientHandshakeConfig& config, Time now);
  bool write_first_datagram(Time now);
  // Starts another attempt without 0-RTT, in place of one that cannot continue.
  void begin_again(Time now);
  bool finish_client();
  // --- post_handshake.cc
  TransportStatus receive_ticket(Bytes message);

  const Role role;
  Random& random;
  SocketAddress local_address;
  SocketAddress remote_address;
  ngtcp2_path path{};
  ngtcp2_conn* connection = nullptr;
  std::unique_ptr<TlsSession> tls;
  std::shared_ptr<TlsContext> tls_context;
  TransportParameters parameters;
  std::deque<HandshakeEvent> events;
  std::optional<HandshakeFailure> failure;
  bool close_due = false;
  // A server discards the Initial keys with the first Handshake packet that it reads (RFC 9001
  // §4.9.1).
  bool initial_keys_discarded = false;
  bool tls_done = false;
  bool completed = false;
  bool early_data_accepted = false;
  bool resumed = false;
  std::string alpn;
  std::uint32_t version = 0;
  CipherSuite suite = CipherSuite::kAes128GcmSha256;
  ConnectionId destination;
  Duration smoothed_rtt = Duration::zero();
  std::vector<std::uint8_t> peer_parameters;

  // Server: what is needed to begin again, until the head of the ClientHello has come
  struct HeldBack {
    std::vector<std::uint8_t> datagram;
    Ecn ecn;
  };
  std::vector<std::uint8_t> client_network;
  std::unique_ptr<ServerHandshakeConfig> restart;
  std::vector<HeldBack> held_back;
  // Client.
  std::unique_ptr<ClientHandshakeConfig> without_early_data;  // while 0-RTT is offered
  bool retry_requested = false;
  std::optional<SessionState> session;
  std::vector<std::uint8_t> first_datagram;  // until it is fetched
  std::uint32_t common_version = 0;
  std::vector<std::uint8_t> post_handshake;  // an incomplete TLS message
  std::uint8_t ticket_kind = k_ticket_without_early_data;
};

}  // namespace sheaf::quic
