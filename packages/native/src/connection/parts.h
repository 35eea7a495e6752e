#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "connection/close_state.h"
#include "connection/connection.h"
#include "connection/connection_ids.h"
#include "connection/crypto_stream.h"
#include "connection/datagram_queue.h"
#include "connection/event_log.h"
#include "connection/idle_timer.h"
#include "crypto/one_rtt_keys.h"
#include "crypto/zero_rtt_keys.h"
#include "path/path.h"

namespace sheaf::quic {

// Addresses other than the path's own that the peer probes (RFC 9000 §9.1), one pair at a time. The
// answers use `RemoteConnectionIds::reserved` and draw on the addresses' own allowance.
struct ProbedAddresses {
  AddressPair addresses;
  AntiAmplification amplification;
  std::optional<PathData> response_due;
};

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

  std::unique_ptr<Path> path;  // none before the first seed
  StreamSet streams;
  LocalConnectionIds local_ids;
  RemoteConnectionIds remote_ids;
  ConnectionId initial_local_id;
  CryptoStream crypto;
  DatagramQueue datagrams;
  CloseState close;
  IdleTimer idle;

  bool handshake_done_due = false;
  std::vector<std::uint8_t> new_token;      // server: to send
  std::vector<std::uint8_t> address_token;  // client: received
  bool new_token_due = false;
  std::optional<ProbedAddresses> probed;
  std::uint64_t early_streams = 0;  // peer's bidirectional streams opened by 0-RTT packets

  PacketNumber skip_number_at = 0;  // next packet number that is left unused
  Time pacing_deadline = k_never;   // when the pacer lets the next packet go
  std::uint64_t grease_bits = 0;    // random; one is used up per packet
  unsigned grease_bits_left = 0;

  // 1-RTT packets that overtook the client's Finished; bounded.
  struct Held {
    std::vector<std::uint8_t> bytes;
    AddressPair path;
    Ecn ecn;
  };
  std::vector<Held> held;

  std::deque<Event> events;
  bool closed_event_given = false;
  EventLog* log = nullptr;
  ConnectionStats stats;

  void make_path(const ConnectionSeed& seed, Time now);
  Duration probe_timeout() const;
  LossDetection::TimerTerms timer_terms(const Path& of) const;
  PathStats path_stats() const;
  void drop(DropReason reason, std::size_t bytes, Time now);
  void fail(const TransportError& error, Time now);
  void start_closing(const ConnectionClosed& closed, Time now);
  bool can_send_early() const { return !established && early_keys && role == Role::kClient; }
};

}  // namespace sheaf::quic
