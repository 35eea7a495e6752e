#pragma once

#include <memory>
#include <vector>

#include "congestion/olia.h"
#include "connection/close_state.h"
#include "connection/config.h"
#include "connection/crypto_stream.h"
#include "connection/datagram_queue.h"
#include "connection/event.h"
#include "connection/event_log.h"
#include "connection/grease_bits.h"
#include "connection/handshake_frames.h"
#include "connection/handshake_progress.h"
#include "connection/held_packets.h"
#include "connection/idle_timer.h"
#include "connection/path_opening.h"
#include "connection/path_policy.h"
#include "connection/path_table.h"
#include "connection/repeat_budget.h"
#include "connection/runs.h"
#include "connection/seed.h"
#include "connection/stats.h"
#include "connection/tunnel_reports.h"
#include "crypto/one_rtt_keys.h"
#include "crypto/zero_rtt_keys.h"
#include "recovery/ack_frequency_requests.h"
#include "scheduler/path/path_scheduler.h"
#include "stream/stream_set.h"
#include "util/ring.h"

namespace sheaf::quic {

// The parts of a connection, each with its own rules. `Connection` and its roles, `PacketBuilder`,
// `PacketReceiver` and `FrameOutcome` work on them.
struct ConnectionParts {
  struct EarlyData {
    std::optional<ZeroRttKeys> keys;
    bool packets_sent = false;
    std::uint64_t streams = 0;  // bidirectional ones of the peer that 0-RTT packets opened
  };

  ConnectionParts(Role role, const ConnectionConfig& config, Random& random, Time now);

  const Role role;
  const ConnectionConfig config;
  Random& random;
  TransportParameters peer_parameters;

  OneRttKeys keys;
  EarlyData early;
  HandshakeProgress handshake;
  HandshakeFrames handshake_frames;

  std::unique_ptr<PathPolicy> policy;  // null: every path is ordinary
  bool policy_frames_due = false;      // `PathPolicy::write_frames` has something to write

  PathTable paths;  // path 0 has its entry from the start, but no path before the first seed
  PathOpening opening;
  std::unique_ptr<PathScheduler> path_scheduler;
  std::shared_ptr<OliaCoupling> coupling;  // of the controllers of all paths
  StreamSet streams;
  RepeatBudget repeats;
  std::unique_ptr<Runs> runs;           // null: no other node sends packets of this connection
  AckFrequencyRequests ack_requests;    // of this side
  std::uint64_t eliciting_packets = 0;  // received
  bool carries_messages = false;        // `ConnectionExtension::carry_messages`
  CryptoStream crypto;
  DatagramQueue datagrams;
  OutgoingTunnelReport tunnel_report;
  CloseState close;
  IdleTimer idle;

  std::vector<std::uint8_t> address_token;  // client: received

  GreaseBits grease;
  HeldPackets held;

  Ring<Event> events;
  EventLog* log = nullptr;
  ConnectionStats stats;

  // Makes path 0 as the handshake left it.
  void make_first_path(const ConnectionSeed& seed, Time now);
  Path& make_path(PathEntry& entry, const AddressPair& addresses);
  // Passes on the peer's ACK_FREQUENCY, which holds on paths that are made later, too.
  void set_ack_frequency(const AckFrequency& frequency);
  std::optional<std::uint64_t> largest_ack_frequency;  // sequence number of the newest that came
  // Asks for another frequency of acknowledgements if the paths have changed much.
  void update_ack_requests();
  // Returns how long the peer delays acknowledgements on the path.
  Duration peer_max_ack_delay(const PathEntry& of) const {
    // The other node of a path apart is asked nothing.
    const Duration announced = peer_parameters.max_ack_delay;
    return of.rules.apart ? announced : ack_requests.max_ack_delay(announced);
  }
  // Returns the path of the handshake, which exists until the handshake is confirmed.
  PathEntry& first_entry() { return *paths.find(PathId{0}); }
  Path* first_path() { return paths.find(PathId{0}) ? first_entry().path.get() : nullptr; }
  // Returns the largest probe timeout of all paths (RFC 10069 §2.4, §2.5).
  Duration probe_timeout() const;
  Duration probe_timeout(const PathEntry& of) const;
  // Returns the largest probe timeout of the paths that share their keys with this one. Old keys
  // are kept for three of these timeouts.
  Duration key_probe_timeout(const PathEntry& of) const;
  bool may_update_keys() const { return !policy || policy->may_update_keys(); }
  // Starts a key update, unless it is too early, and sends a packet that shows it.
  bool update_keys(PathEntry& of, Time now);
  // Pings the other paths that share the new keys of `of`: another node may receive there.
  void announce_shared_keys(const PathEntry& of);
  LossDetection::TimerTerms timer_terms(const PathEntry& of) const;
  PathStats path_stats(const PathEntry& of) const;
  // Tells the streams the round trip time of the slowest path, which their windows follow.
  void update_stream_rtt();
  void ping_all();
  void drop(DropReason reason, std::size_t bytes, Time now);
  void fail(const TransportError& error, Time now);
  void start_closing(const ConnectionClosed& closed, Time now);
  bool can_send_early() const {
    return !handshake.established() && early.keys && role == Role::kClient;
  }
  // Returns the earliest time at which a pacer lets a packet go, as `poll_transmit` found last.
  Time pacing_deadline() const { return pacing_deadline_; }
  void reset_pacing_deadline() { pacing_deadline_ = k_never; }
  void wait_for_pacer(Time until) { pacing_deadline_ = std::min(pacing_deadline_, until); }
  // The handshake's path, which migration and new paths do not change.
  const ConnectionId& initial_local_id() const { return initial_local_id_; }
  const Address& handshake_remote() const { return handshake_remote_; }

 private:
  std::optional<AckFrequency> ack_frequency_;
  Time pacing_deadline_ = k_never;
  ConnectionId initial_local_id_;
  Address handshake_remote_;
};

}  // namespace sheaf::quic
