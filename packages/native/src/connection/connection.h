#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "connection/config.h"
#include "connection/event.h"
#include "connection/seed.h"
#include "connection/stats.h"
#include "connection/transmit.h"
#include "stream/leased_limits.h"
#include "stream/send_chunk.h"
#include "stream/shared_limits.h"
#include "util/random.h"

namespace sheaf::quic {

class EventLog;  // connection/event_log.h: qlog

enum class PathRefusal : std::uint8_t {
  kNotNegotiated,   // the peer does not speak multipath
  kNotReady,        // wait for HandshakeConfirmedEvent
  kOnlyClient,      // servers do not open paths
  kForbidden,       // the peer disabled active migration
  kPathLimit,       // the limits of both sides allow no more for now
  kNoConnectionId,  // the peer gave none yet: wait for PathsAvailableEvent
  kUnknownPath,
  kLastPath,
  kUnknownStream,
  kOtherServer,  // the stream lives at another server than the path leads to
};

// One QUIC connection's 0-RTT and 1-RTT life, for either role. Sans-IO: driven by `receive`,
// `poll_transmit`, `next_timeout`, `on_timeout` and `poll_event`. It sequences its parts (paths,
// streams, keys, connection ids, close) and holds no rules itself.
class Connection {
 public:
  Connection(Role role, const ConnectionConfig& config, Random& random, Time now);
  ~Connection();

  // What this side announces in its handshake, connection id parameters left to the handshake.
  TransportParameters local_parameters() const;

  // --- establishment --------------------------------------------------------------------------
  // 0-RTT: a client sends with the secret, a server receives with it. `remembered` are the peer's
  // parameters of the earlier connection (client) or its present ones (server).
  TransportStatus start_early(const TrafficSecret& secret, const ConnectionSeed& seed, Time now);
  void reject_early_data(Time now);
  TransportStatus establish(const ConnectionSeed& seed, Time now);
  void install_receive_secret(const TrafficSecret& secret, Time now);
  // Server: TLS is done, sends HANDSHAKE_DONE and these TLS messages (tickets) in CRYPTO frames.
  void confirm_handshake(Bytes post_handshake_messages, Time now);
  // Measured by the handshake; the first own sample replaces it. Zero: not measured.
  void set_initial_rtt(Duration rtt);
  // Bytes of Initial and Handshake packets, for the anti-amplification limit.
  void count_handshake_bytes(std::uint64_t received, std::uint64_t sent);
  // What may be sent to an address that is not validated, in bytes (RFC 9000 §8.1).
  std::uint64_t amplification_allowance() const;
  void validate_address();
  // Server: address token to give to the client in NEW_TOKEN.
  void send_new_token(Bytes token);

  // --- sans-IO --------------------------------------------------------------------------------
  // One short header packet, or one 0-RTT packet; a whole datagram or a part of one.
  void receive(const Datagram& datagram, Time now);
  void poll_transmit(TransmitBatch& batch, Time now);
  Time next_timeout() const;
  void on_timeout(Time now);
  std::optional<Event> poll_event();

  // --- streams (stream/stream_set.h says what each does) ----------------------------------------
  Result<StreamId, StreamRefusal> open_stream(Directionality directionality);
  std::uint64_t streams_available(Directionality directionality) const;
  Result<bool, StreamRefusal> write(StreamId stream, SendChunk chunk, bool fin);
  Result<ReadResult, StreamRefusal> read(StreamId stream, MutableBytes out, Time now);
  std::uint64_t readable_bytes(StreamId stream) const;
  Bytes peek(StreamId stream) const;
  Result<ReadResult, StreamRefusal> consume(StreamId stream, std::size_t bytes, Time now);
  Status<StreamRefusal> reset_stream(StreamId stream, std::uint64_t error);
  void keep_reliable(StreamId stream, std::uint64_t bytes);
  Status<StreamRefusal> stop_sending(StreamId stream, std::uint64_t error);
  void set_priority(StreamId stream, const StreamPriority& priority);
  void set_dependency(StreamId stream, const Dependency& dependency);
  void set_group(const Dependency& group);
  void set_expected_bytes(StreamId stream, std::uint64_t total);
  std::uint64_t unsent_bytes(StreamId stream) const;
  std::uint64_t reserve(StreamId stream);
  bool has_room_to_hold(std::uint64_t bytes) const;
  bool has_room_to_wait() const;
  void hold(std::uint64_t bytes);
  void release(std::uint64_t bytes);
  void set_memory(std::uint64_t bytes);
  // Nobody wants what the streams hold: the connection is closed.
  void drop_streams();
  // Buffered and held, in bytes.
  std::size_t memory_bytes() const;
  std::size_t open_bidirectional_streams() const;
  // The peer sent it in 0-RTT packets (RFC 8470).
  bool received_early(StreamId stream) const;

  // --- datagrams (RFC 9221) ---------------------------------------------------------------------
  // Largest payload that fits now; 0 when the peer takes none.
  std::size_t max_datagram_payload() const;
  // Copies. `identifier` comes back in DatagramAcknowledgedEvent or DatagramLostEvent. False when
  // it is too large or the queue is full: DatagramsWritableEvent follows in that case.
  bool send_datagram(Bytes payload, std::uint64_t identifier);
  // Without a copy; valid until the next `receive` of a packet. Of those that wait too long for
  // room the oldest are dropped (connection/datagram_queue.h).
  std::optional<Bytes> receive_datagram();

  // --- life -------------------------------------------------------------------------------------
  enum class State : std::uint8_t { kHandshaking, kEstablished, kClosing, kDraining, kClosed };
  State state() const;
  // Why the connection ends; null while it does not.
  const ConnectionClosed* closed() const;
  // What was written before is sent first, as far as window and pacer let it leave at once.
  void close(std::uint64_t application_error, std::string_view reason, Time now);
  // Ends at once and silently: the handshake failed under it.
  void abandon(const ConnectionClosed& closed);
  void close_with_error(const TransportError& error, Time now);
  // Client: moves a path to another local address (RFC 9000 §9).
  bool migrate(const Address& local, Time now, PathId path = {});
  // Where packets of the peer may arrive, with those that paths have left not long ago.
  std::vector<Address> local_addresses() const;
  // Some of them will be of no use after a while.
  bool leaves_addresses() const;
  // Uses a fresh connection id from now on (RFC 9000 §5.1).
  bool rotate_connection_id(PathId path = {});
  bool initiate_key_update(Time now);
  void ping();
  void set_event_log(EventLog* log);

  // --- paths (RFC 10069) -----------------------------------------------------------------------
  // Both sides offered multipath; known once established.
  bool multipath() const;
  // Client: begins a path between these addresses; it carries data after PathValidatedEvent.
  Result<PathId, PathRefusal> open_path(const AddressPair& addresses, Time now);
  // `error` goes to the peer (RFC 10069 §4.2.1). Not for the last one: close the connection.
  Status<PathRefusal> abandon_path(PathId path, std::uint64_t error, Time now);
  // How both sides should use it from now on.
  Status<PathRefusal> set_path_status(PathId path, PathStatus status, Time now);
  // For the weighted scheduler.
  Status<PathRefusal> set_path_weight(PathId path, std::uint32_t weight);
  // What this side sends of the stream leaves on this path alone, until the path is abandoned.
  Status<PathRefusal> pin_stream(StreamId stream, PathId path);

  // --- ids for the endpoint's routing ----------------------------------------------------------
  // The endpoint asks after each call whether ids were issued or retired.
  struct IdChange {
    ConnectionId id;
    bool added = true;
  };
  std::optional<IdChange> poll_id_change();
  // Key for stateless reset tokens of ids that are issued; 32 bytes.
  void set_reset_key(Bytes key);
  // Reset tokens that the peer gave us, for datagrams that cannot be decrypted.
  bool is_stateless_reset(Bytes datagram) const;

  Bytes address_token() const;              // client, after NewTokenEvent
  std::vector<std::uint8_t> read_crypto();  // client, after PostHandshakeCryptoEvent
  Role role() const;
  const TransportParameters& peer_parameters() const;
  ConnectionStats stats() const;
  std::vector<PathStats> path_stats() const;

  // What the connection is made of (connection/parts.h), for extensions such as multi_end/.
  struct Parts;
  Parts& parts();
  const Parts& parts() const;

 private:
  void transmit_last_words(TransmitBatch& batch, Time now);
  void transmit_answer(TransmitBatch& batch, Time now);
  void transmit_close(TransmitBatch& batch, Time now);

  std::unique_ptr<Parts> parts_;
};

}  // namespace sheaf::quic
