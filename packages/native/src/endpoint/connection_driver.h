#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "connection/connection.h"
#include "crypto/handshake.h"
#include "endpoint/first_datagrams.h"
#include "multi_end/backend_exchange.h"
#include "multi_end/primary_exchange.h"
#include "util/ring.h"

namespace sheaf::quic {

// Joins a Handshake and the Connection that it produces: passes each datagram to one of them, and
// hands secrets over (docs/decisions/0001-handshake-takeover.md). It can also hold a connection
// that another server handed over. Exchanges the messages between the servers of one connection
// (docs/internals/multi-end.md).
class ConnectionDriver {
 public:
  static Result<std::unique_ptr<ConnectionDriver>, HandshakeFailure> make_client(
      ClientHandshakeConfig handshake, const ConnectionConfig& config, Random& random, Time now);
  // Fills in `handshake.parameters`.
  static Result<std::unique_ptr<ConnectionDriver>, HandshakeFailure> make_server(
      ServerHandshakeConfig handshake, const ConnectionConfig& config, Random& random,
      const SharedIdMaker& ids, Time now);
  // Makes a connection of a backend. The error says why the seed is unusable.
  static Result<std::unique_ptr<ConnectionDriver>, TransportError> make_backend(
      const BackendSeed& seed, const ConnectionConfig& config, Random& random,
      const SharedIdMaker& ids, Time now);
  ~ConnectionDriver();

  void receive(const Datagram& datagram, Time now);
  void poll_transmit(TransmitBatch& batch, Time now);
  Time next_timeout() const;
  void on_timeout(Time now);
  std::optional<Event> poll_event(Time now);

  Connection& connection() { return *connection_; }
  const Connection& connection() const { return *connection_; }
  // Closes a handshake or a connection.
  void close(std::uint64_t application_error, std::string_view reason, Time now);
  // Ends the connection without telling the client.
  void forget();
  // Returns true when nothing will be sent or received any more.
  bool finished() const;
  bool handshake_completed() const { return completed_; }
  // Returns whether application data may be sent, or may have arrived, so that its protocol is
  // known.
  bool application_ready() const { return established_ || early_data_started_; }

  const std::string& alpn() const { return alpn_; }
  std::uint32_t version() const { return version_; }
  bool resumed() const { return resumed_; }
  bool early_data_accepted() const { return early_data_accepted_; }
  const ConnectionId& local_id() const { return local_id_; }
  // Returns the client's first destination id, which names the connection in logs (qlog's ODCID).
  const ConnectionId& original_destination() const { return original_destination_; }
  Time started() const { return started_; }
  // Returns null unless this is the primary and hand-overs are possible.
  PrimaryExchange* primary_exchange() { return primary_exchange_.get(); }
  const PrimaryExchange* primary_exchange() const { return primary_exchange_.get(); }
  // Returns null unless another server handed the connection over.
  BackendExchange* backend_exchange() { return backend_exchange_.get(); }
  const BackendExchange* backend_exchange() const { return backend_exchange_.get(); }
  // Returns the state with which a client resumes; valid after SessionTicketEvent.
  std::vector<std::uint8_t> session() const { return serialize(session_); }

  // Bytes that a connection takes beside its streams while its handshake is pending, as measured.
  static constexpr std::uint64_t k_half_open_memory = 72 << 10;
  // Estimates the memory of the connection, in bytes.
  std::uint64_t memory_bytes() const;
  // Returns whether no request and no session is open.
  bool idle() const { return completed_ && connection_->streams().open_bidirectional() == 0; }

  // Sets the address token that the server sends once the handshake is confirmed.
  void set_address_token(std::vector<std::uint8_t> token) { address_token_ = std::move(token); }
  // Belongs to the owner of the endpoint.
  void* user_data = nullptr;

 private:
  ConnectionDriver(Role role, const ConnectionConfig& config, Random& random, Time now);

  // Returns whether the handshake shares the anti-amplification allowance of the connection.
  // Clients have none (RFC 9000 §8.1), and may have left the path of the handshake.
  bool limited() const { return established_ && role_ == Role::kServer; }
  void receive_long(const Datagram& datagram, Time now);
  bool transmit_handshake(TransmitBatch& batch, Time now);
  void repeat_close_in_handshake(Time now);
  void process_handshake(Time now);
  TransportStatus process(const HandshakeEvent& event, Time now);
  TransportStatus complete(Time now);
  ConnectionSeed seed() const;
  void fail(const TransportError& error, Time now);
  void on_connection_event(const Event& event, Time now);

  Role role_;
  Time started_;
  std::unique_ptr<Handshake> handshake_;
  std::unique_ptr<Connection> connection_;
  std::unique_ptr<PrimaryExchange> primary_exchange_;
  std::unique_ptr<BackendExchange> backend_exchange_;
  AddressPair path_;
  ConnectionId local_id_;
  ConnectionId original_destination_;
  std::optional<TransportParameters> peer_parameters_;
  std::vector<std::uint8_t> raw_peer_parameters_;
  std::optional<TrafficSecret> send_secret_;
  std::optional<TrafficSecret> receive_secret_;
  std::vector<std::uint8_t> tickets_;
  std::vector<std::uint8_t> address_token_;
  SessionState session_;
  std::string alpn_;
  std::uint32_t version_ = k_version_1;
  bool established_ = false;
  bool completed_ = false;
  bool resumed_ = false;
  bool early_data_started_ = false;
  bool early_data_accepted_ = false;
  bool address_validated_ = false;
  std::uint64_t handshake_bytes_received_ = 0;
  std::uint64_t handshake_bytes_sent_ = 0;
  FirstDatagrams first_datagrams_;                // of a client
  std::uint16_t largest_handshake_datagram_ = 0;  // of the peer
  Ring<Event> events_;
};

}  // namespace sheaf::quic
