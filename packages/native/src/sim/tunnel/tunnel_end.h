#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <vector>

#include "http3/capsule.h"
#include "sim/connection_pair.h"
#include "tunnel/flow_queues.h"
#include "tunnel/mode.h"
#include "tunnel/sent_payloads.h"

namespace sheaf::quic {

struct TunnelEndConfig {
  TunnelMode mode = TunnelMode::kDatagram;
  std::size_t streams = 1;  // of kStreamGroup
  InnerPacketQueueConfig queue;
  bool fair = false;  // a queue for each flow
  // How often packets of unknown fate are sent once more while nothing else waits; kRetransmit
  std::uint8_t idle_copies = 0;
};

// One end of a tunnel: an outer connection that carries the packets of inner connections. Packets
// wait until the outer connection has room, so that the queue of the connection itself
// stays short.
class TunnelEnd {
 public:
  // Takes a packet of a flow from the tunnel. It may be decrypted in place.
  using Deliver = std::function<void(std::size_t flow, MutableBytes packet, Time now)>;
  // Takes a report about a flow from the tunnel.
  using TakeReport = std::function<void(std::size_t flow, Bytes report)>;

  TunnelEnd(Role role, const ConnectionConfig& config, const TunnelEndConfig& tunnel,
            Random& random, Time now);
  TunnelEnd(const TunnelEnd&) = delete;
  TunnelEnd& operator=(const TunnelEnd&) = delete;

  // Returns a configuration with a short queue of datagrams, for `connection`.
  static ConnectionConfig with_short_queue(ConnectionConfig config);

  void send(std::size_t flow, Bytes packet, Time now);
  // Sends a report about a flow, before the packets that wait. It takes the place of one that did
  // not leave yet.
  void send_report(std::size_t flow, Bytes report);
  void poll_transmit(TransmitBatch& batch, Time now);
  Time next_timeout() const { return std::min(outer.next_timeout(), next_copies_); }
  void on_timeout(Time now);

  bool fair() const { return config_.fair; }
  const FlowQueues& queues() const { return queues_; }
  FlowQueues& queues() { return queues_; }
  // Packets that the queue did not drop, and that the outer connection refused as too large
  std::uint64_t too_large() const { return too_large_; }
  // Payloads that were sent once more
  std::uint64_t repeats() const { return queues_.counts().repeated; }
  std::uint64_t copies() const { return copies_; }
  // The outer connection's only path
  PathStats path() const { return outer.connection.paths().stats().front(); }

  ConnectionHost outer;
  Deliver deliver;
  TakeReport take_report;

 private:
  void on_event(const Event& event, Time now);
  void on_lost(std::uint64_t identifier, Time now);
  void take_datagrams(Time now);
  void read_stream(StreamId stream, Time now);
  void take(Bytes framed, Time now);
  void feed(Time now);
  Duration idle_before_copies() const;
  bool feed_reports();
  void feed_copies();
  bool feed_datagram(Bytes framed);
  bool feed_stream(Bytes framed);

  TunnelEndConfig config_;
  FlowQueues queues_;
  SentPayloads sent_;
  std::vector<StreamId> streams_;  // that this side sends on
  std::size_t next_stream_ = 0;
  std::map<StreamId, http3::CapsuleReader> readers_;
  std::vector<std::uint8_t> framed_;
  std::vector<std::uint8_t> packet_;
  std::map<std::size_t, std::vector<std::uint8_t>> reports_;  // that wait, framed, by flow
  Time next_copies_ = k_never;  // when copies begin, unless a packet comes before
  bool copying_ = false;
  std::uint64_t copies_ = 0;
  std::uint64_t too_large_ = 0;
};

}  // namespace sheaf::quic
