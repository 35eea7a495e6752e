#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "crypto/seen_filter.h"
#include "endpoint/connection_driver.h"
#include "endpoint/endpoint_config.h"
#include "endpoint/endpoint_limits.h"
#include "endpoint/endpoint_slot.h"
#include "endpoint/limit_hit.h"
#include "endpoint/server_keys.h"
#include "endpoint/timer_queue.h"
#include "util/ring.h"

namespace sheaf::quic {

// Reasons to refuse another server's connection.
enum class ImportRefusal : std::uint8_t {
  kUnknownVersion,
  kMalformed,
  kOutOfRange,
  kKnown,     // its connection ids are in use here
  kUnusable,  // invalid keys, or connection ids that this endpoint does not route
  kFull,      // the maximum number of connections was reached, or none are accepted any more
};

struct EndpointStats {
  std::uint64_t connections_accepted = 0;
  std::uint64_t connections_imported = 0;
  std::uint64_t handshakes_failed = 0;
  std::uint64_t retries_sent = 0;
  std::uint64_t refusals_sent = 0;
  std::uint64_t version_negotiations_sent = 0;
  std::uint64_t stateless_resets_sent = 0;
  std::uint64_t datagrams_received = 0;
  std::uint64_t datagrams_sent = 0;
  std::uint64_t bytes_received = 0;
  std::uint64_t bytes_sent = 0;
  std::uint64_t packets_lost = 0;
  EndpointLimits::Hits limit_hits{};
  std::array<std::uint64_t, static_cast<std::size_t>(DropReason::kCount)> dropped{};
};

// What arrived in one batch
struct Arrivals {
  std::size_t datagrams = 0;
  std::size_t prompt = 0;                 // of these are more than acknowledgements
  Duration round_trip = Duration::max();  // the shortest of all connections that received

  Arrivals& operator+=(const Arrivals& other) {
    datagrams += other.datagrams;
    prompt += other.prompt;
    round_trip = std::min(round_trip, other.round_trip);
    return *this;
  }
};

// Makes the memory of an endpoint for address tokens that were used while they are valid.
std::shared_ptr<SeenFilter> make_used_tokens();

// Holds all connections of one set of sockets. Routes datagrams by connection id, admits new
// clients, responds to datagrams without a connection, and runs the timers. It does no I/O.
class Endpoint final : private EndpointLimits::Listener {
 public:
  Endpoint(const EndpointConfig& config, Random& random);
  ~Endpoint();

  Result<ConnectionDriver*, HandshakeFailure> connect(ClientHandshakeConfig handshake,
                                                      const ConnectionConfig& config, Time now);
  // Takes over a path of another server's connection (multi_end/connection_snapshot.h).
  Result<ConnectionDriver*, ImportRefusal> import(Bytes snapshot, Time now);
  // Sets the TLS context of handshakes that begin from now on.
  void set_server_tls(std::shared_ptr<TlsContext> tls);
  // Takes other secrets for connections that begin from now on, and for tokens and resets of all.
  void set_secrets(const ServerSecrets& secrets) { keys_ = make_keys(secrets); }
  // Closes idle connections, of this network or of any: other endpoints need their places.
  void make_room(const std::optional<NetworkKey>& network, Time now) {
    limits_.make_room(network, now);
  }
  // Gives the places of all connections to other endpoints with the same limits. Nothing may be
  // received afterwards.
  void give_places() { limits_.give_places(); }
  // Refuses new connections from now on.
  void stop_accepting() { accepting_ = false; }

  void receive(const Datagram& datagram, Time now, Origin origin = Origin::kNetwork);
  // Says that what arrived at once was given to `receive` (connection/connection.h).
  Arrivals end_batch(Time now);
  // Returns one batch to one destination; `batch.size` is 0 when there is nothing to send.
  void poll_transmit(TransmitBatch& batch, Time now);
  Time next_timeout() const { return timers_.next(); }
  void on_timeout(Time now);

  // Returns a connection that may have events; each call returns another one. Its owner drains
  // `ConnectionDriver::poll_event`. A driver that is `finished` is freed by the next `reap`.
  ConnectionDriver* next_active(Time now);
  // Must be called after the application called the connection, which may have something to send.
  void wake(ConnectionDriver& driver, Time now);
  // As `wake`, for a connection that is to send and whose events were drained. Those that sending
  // causes come with `next_active`.
  void send(ConnectionDriver& driver);
  // Whether `next_active` or `reap` has something to do.
  bool has_active() const { return !active_.empty() || !finished_.empty(); }
  // Frees finished connections whose events were drained. `removed` is called for each before any
  // is freed.
  void reap(const std::function<void(ConnectionDriver&)>& removed);

  std::size_t connection_count() const { return slots_.size(); }
  std::size_t half_open_count() const { return limits_.half_open_count(); }
  std::uint64_t memory_bytes() const { return limits_.memory_bytes(); }
  // Returns the counts of the endpoint and of all its connections, including those that have ended.
  EndpointStats stats() const;
  // Visits every connection, in no particular order.
  void for_each(const std::function<void(ConnectionDriver&)>& visit) const;

 private:
  using Slot = EndpointSlot;
  struct StatelessReply {
    std::vector<std::uint8_t> bytes;
    AddressPair path;
  };

  ServerKeys make_keys(const ServerSecrets& secrets);
  Slot& add(std::unique_ptr<ConnectionDriver> driver);
  bool add_route(const ConnectionId& id, Slot& slot,
                 Placement::Source source = Placement::Source::kServer);
  void remove_route(const ConnectionId& id);
  void receive_on(Slot& slot, const Datagram& datagram, Time now);
  void touch(Slot& slot, Time now);
  void update_ids(Slot& slot);
  void receive_first(const Datagram& datagram, const DatagramHeader& header, Time now);
  void accept(const InitialHeader& initial, const Datagram& datagram, Time now);
  std::optional<ConnectionId> validated_destination(const InitialHeader& initial,
                                                    const Address& remote, Time now);
  void refuse(const InitialHeader& initial, const AddressPair& path, TransportErrorCode code);
  void send_retry(const InitialHeader& initial, const AddressPair& path, Time now);
  Slot* find_reset(Bytes datagram) const;
  void send_stateless_reset(const Datagram& datagram, Owner owner, Time now);
  void reply(MutableBytes bytes, std::size_t size, const AddressPair& path);
  void forget_queued(const std::vector<Slot*>& finished);
  static void add_connection(EndpointStats& stats, const Connection& connection);
  void on_made_room(Slot& slot) override;
  void activate(Slot& slot);
  void enqueue_sender(Slot& slot);
  Time by_shared_clock(Time now) const { return now + config_.shared_clock; }
  void drop(DropReason reason) { ++stats_.dropped[static_cast<std::size_t>(reason)]; }

  EndpointConfig config_;
  Random& random_;
  std::shared_ptr<RoutableIds::Nonces> nonces_;
  ServerKeys keys_;
  bool accepting_ = true;

  EndpointSlots slots_;
  EndpointLimits limits_;
  std::unordered_map<ConnectionId, Slot*> routes_;
  std::unordered_set<Slot*> called_;  // connections on which this side is the client
  TimerQueue<Slot> timers_;
  Arrivals arrivals_;             // since the last end of a batch
  std::vector<Slot*> receivers_;  // that received since the last end of a batch
  Ring<Slot*> senders_;
  Ring<Slot*> active_;
  Slot* draining_ = nullptr;  // the latest result of `next_active`
  Ring<StatelessReply> replies_;
  std::vector<Slot*> finished_;
  TokenBucket stateless_resets_;
  std::shared_ptr<SeenFilter> used_tokens_;
  EndpointStats stats_;  // without the connections that exist
};

}  // namespace sheaf::quic
