#pragma once

#include <memory>
#include <vector>

#include "congestion/olia.h"
#include "connection/close_state.h"
#include "connection/connection.h"
#include "connection/crypto_stream.h"
#include "connection/datagram_queue.h"
#include "connection/event_log.h"
#include "connection/grease_bits.h"
#include "connection/held_packets.h"
#include "connection/idle_timer.h"
#include "connection/path_policy.h"
#include "connection/path_table.h"
#include "connection/repeat_budget.h"
#include "crypto/one_rtt_keys.h"
#include "crypto/zero_rtt_keys.h"
#include "scheduler/path/path_scheduler.h"
#include "stream/stream_set.h"
#include "util/ring.h"

namespace sheaf::quic {

// What a connection is made of. `Connection`, `PacketBuilder`, `PacketReceiver` and `FrameOutcome`
// work on it; each part holds its own rules.
struct Connection::Parts {
  Parts(Role role, const ConnectionConfig& config, Random& random, Time now);

  Role role;
  ConnectionConfig config;
  Random& random;
  TransportParameters peer_parameters;

  OneRttKeys keys;
  std::optional<ZeroRttKeys> early_keys;
  bool early_packets_sent = false;
  bool established = false;
  bool handshake_confirmed = false;

  std::unique_ptr<PathPolicy> policy;  // null: every path is ordinary
  bool policy_frames_due = false;      // `PathPolicy::write_frames` has something to write

  PathTable paths;  // path 0 has its entry from the start, but no path before the first seed
  std::unique_ptr<PathScheduler> path_scheduler;
  std::shared_ptr<OliaCoupling> coupling;  // of the controllers of all paths
  StreamSet streams;
  ConnectionId initial_local_id;
  Address handshake_remote;
  RepeatBudget repeats;
  // Entries in use that may transmit next (Connection): packets, what is sent before the close, and
  // the close.
  struct Turns {
    std::size_t packets = 0;
    std::size_t last_words = 0;
    std::size_t close = 0;
  };
  Turns turns;
  CryptoStream crypto;
  DatagramQueue datagrams;
  CloseState close;
  IdleTimer idle;

  bool handshake_done_due = false;
  std::vector<std::uint8_t> new_token;      // server: to send
  std::vector<std::uint8_t> address_token;  // client: received
  bool new_token_due = false;
  std::uint64_t early_streams = 0;  // peer's bidirectional streams opened by 0-RTT packets

  Time pacing_deadline = k_never;  // when a pacer lets the next packet go
  GreaseBits grease;
  HeldPackets held;

  Ring<Event> events;
  bool closed_event_given = false;
  EventLog* log = nullptr;
  ConnectionStats stats;

  // Path 0, as the handshake left it.
  void make_first_path(const ConnectionSeed& seed, Time now);
  Path& make_path(PathEntry& entry, const AddressPair& addresses);
  // The path of the handshake; it is there until the handshake is confirmed.
  PathEntry& first_entry() { return *paths.find(PathId{0}); }
  Path* first_path() { return paths.find(PathId{0}) ? first_entry().path.get() : nullptr; }
  // The largest probe timeout of all paths (RFC 10069 §2.4, §2.5).
  Duration probe_timeout() const;
  Duration probe_timeout(const Path& of) const;
  // The largest probe timeout of the paths that share their keys with this one. Old keys are kept
  // for three of these timeouts.
  Duration key_probe_timeout(const PathEntry& of) const;
  bool may_update_keys() const { return !policy || policy->may_update_keys(); }
  // Starts a key update, unless it is too early, and lets it be seen.
  bool update_keys(PathEntry& of, Time now);
  // New keys for `of` are those of other paths, too, where somebody else may hear of them.
  void announce_shared_keys(const PathEntry& of);
  LossDetection::TimerTerms timer_terms(const Path& of) const;
  PathStats path_stats(const PathEntry& of) const;
  // The controller's round trip and the receive windows follow the slowest path.
  void update_stream_rtt();
  void ping_all();
  void drop(DropReason reason, std::size_t bytes, Time now);
  void fail(const TransportError& error, Time now);
  void start_closing(const ConnectionClosed& closed, Time now);
  bool can_send_early() const { return !established && early_keys && role == Role::kClient; }
};

}  // namespace sheaf::quic
