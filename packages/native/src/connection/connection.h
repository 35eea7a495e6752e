#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include "connection/application_datagrams.h"
#include "connection/application_paths.h"
#include "connection/application_streams.h"
#include "connection/config.h"
#include "connection/connection_extension.h"
#include "connection/datagram_routing.h"
#include "connection/establishment.h"
#include "connection/event.h"
#include "connection/stats.h"
#include "connection/transmit.h"
#include "util/random.h"

namespace sheaf::quic {

class EventLog;  // connection/event_log.h: qlog

// One QUIC connection's 0-RTT and 1-RTT life, for either role. Sans-IO: driven by `receive`,
// `end_batch`, `poll_transmit`, `next_timeout`, `on_timeout` and `poll_event`. It sequences its
// parts (paths, streams, keys, connection ids, close) and holds no rules itself. Each role is one
// side from which a connection is seen.
class Connection {
 public:
  Connection(Role role, const ConnectionConfig& config, Random& random, Time now);
  ~Connection();

  // --- roles ------------------------------------------------------------------------------------
  Establishment& establishment() { return establishment_; }
  ApplicationStreams& streams() { return streams_; }
  const ApplicationStreams& streams() const { return streams_; }
  ApplicationDatagrams& datagrams() { return datagrams_; }
  const ApplicationDatagrams& datagrams() const { return datagrams_; }
  ApplicationPaths& paths() { return paths_; }
  const ApplicationPaths& paths() const { return paths_; }
  DatagramRouting& routing() { return routing_; }
  ConnectionExtension& extension() { return extension_; }
  const ConnectionExtension& extension() const { return extension_; }

  // --- sans-IO ----------------------------------------------------------------------------------
  // Takes one short header packet or one 0-RTT packet: a whole datagram or a part of one.
  void receive(const Datagram& datagram, Time now);
  // Says that what arrived at once was given to `receive`. Acknowledgements settle packets as they
  // come; losses and the congestion controller wait for this call, which costs as much for many as
  // for one. `poll_transmit` and `on_timeout` make it themselves.
  void end_batch(Time now);
  void poll_transmit(TransmitBatch& batch, Time now);
  // Returns a time that is over while a batch is open.
  Time next_timeout() const;
  void on_timeout(Time now);
  std::optional<Event> poll_event();
  // Whether sending has caused an event that waits for `poll_event`.
  bool has_events() const;

  // --- life -------------------------------------------------------------------------------------
  enum class State : std::uint8_t { kHandshaking, kEstablished, kClosing, kDraining, kClosed };
  State state() const;
  // Why the connection ends; null while it does not.
  const ConnectionClosed* closed() const;
  // Sends first what was written before, as far as window and pacer let it leave at once.
  void close(std::uint64_t application_error, std::string_view reason, Time now);
  void close_with_error(const TransportError& error, Time now);
  // Ends at once and silently: the handshake failed under it.
  void abandon(const ConnectionClosed& closed);
  bool initiate_key_update(Time now);
  // Sends PING on all paths. The next keep-alive comes an interval later.
  void ping(Time now);

  // --- facts ------------------------------------------------------------------------------------
  Role role() const;
  // Returns the parameters that this side announces. The handshake adds those with connection ids.
  TransportParameters local_parameters() const;
  const TransportParameters& peer_parameters() const;
  ConnectionStats stats() const;
  void set_event_log(EventLog* log);

 private:
  // Entries in use that may transmit next: packets, what is sent before the close, and the close.
  struct Turns {
    std::size_t packets = 0;
    std::size_t last_words = 0;
    std::size_t close = 0;
  };

  void conclude_batch(Time now);
  void transmit_packets(TransmitBatch& batch, Time now);
  void transmit_beside_runs(TransmitBatch& batch, Time now);
  void transmit_last_words(TransmitBatch& batch, Time now);
  void transmit_answer(TransmitBatch& batch, Time now);
  void transmit_close(TransmitBatch& batch, Time now);

  std::unique_ptr<ConnectionParts> parts_;
  Turns turns_;
  bool closed_event_given_ = false;
  Establishment establishment_;
  ApplicationStreams streams_;
  ApplicationDatagrams datagrams_;
  ApplicationPaths paths_;
  DatagramRouting routing_;
  ConnectionExtension extension_;
};

}  // namespace sheaf::quic
