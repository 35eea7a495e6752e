#pragma once

#include <memory>
#include <vector>

#include "congestion/olia.h"
#include "connection/backend_table.h"
#include "connection/close_state.h"
#include "connection/connection.h"
#include "connection/crypto_stream.h"
#include "connection/datagram_queue.h"
#include "connection/event_log.h"
#include "connection/idle_timer.h"
#include "connection/path_table.h"
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

  std::unique_ptr<BackendTable> backends;  // of a client or primary; null unless negotiated
  bool primary_lost = false;               // the client was told
  Time primary_lost_at{};                  // the last time

  PathTable paths;  // path 0 has its entry from the start, but no path before the first seed
  std::unique_ptr<PathScheduler> path_scheduler;
  std::shared_ptr<OliaCoupling> coupling;  // of the controllers of all paths
  StreamSet streams;
  ConnectionId initial_local_id;
  Address handshake_remote;
  std::uint64_t repeated_bytes = 0;  // sent again although not lost (Retransmission)
  std::size_t next_turn = 0;         // entry that may transmit first
  std::size_t last_words_turn = 0;   // entry that may transmit next before the close is told
  std::size_t close_turn = 0;        // entry that tells the close next
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
  std::uint64_t grease_bits = 0;   // random; one is used up per packet
  unsigned grease_bits_left = 0;

  // 1-RTT packets that overtook the client's Finished; bounded.
  struct Held {
    std::vector<std::uint8_t> bytes;
    AddressPair path;
    Ecn ecn;
  };
  std::vector<Held> held;

  Ring<Event> events;
  bool closed_event_given = false;
  EventLog* log = nullptr;
  ConnectionStats stats;

  // Path 0, as the handshake left it.
  void make_first_path(const ConnectionSeed& seed, Time now);
  Path& make_path(PathEntry& entry, const AddressPair& addresses);
  // Of the handshake; there until the handshake is confirmed.
  PathEntry& first_entry() { return *paths.find(PathId{0}); }
  Path* first_path() { return paths.find(PathId{0}) ? first_entry().path.get() : nullptr; }
  // The largest of all paths (RFC 10069 §2.4, §2.5).
  Duration probe_timeout() const;
  Duration probe_timeout(const Path& of) const;
  // Of the paths that share their keys with this one: so long old keys last, thrice.
  Duration key_probe_timeout(const PathEntry& of) const;
  // Of the nodes that have the same keys none may fall two updates behind, and only the client
  // hears all of them (docs/internals/keys.md).
  bool may_update_keys() const;
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
