#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "connection/config.h"
#include "connection/event.h"
#include "connection/first_packets.h"
#include "connection/path_policy.h"
#include "connection/path_table.h"
#include "connection/run_order.h"
#include "crypto/one_rtt_keys.h"
#include "stream/stream_set.h"

namespace sheaf::quic {

struct ConnectionParts;

// A connection as an extension sees it (connection/path_policy.h; multi_end/). Refers to the
// connection, which outlives it, and may be copied.
class ConnectionExtension {
 public:
  explicit ConnectionExtension(ConnectionParts& parts) : parts_(&parts) {}

  // --- facts ------------------------------------------------------------------------------------
  Role role() const;
  const ConnectionConfig& config() const;
  const TransportParameters& peer_parameters() const;
  // The handshake is confirmed.
  bool confirmed() const;
  // Zero: none.
  Duration idle_timeout() const;
  // When this server itself received something last; before, the beginning of time.
  Time last_received() const;
  Duration probe_timeout(const PathEntry& entry) const;
  // Null: every path is ordinary.
  PathPolicy* policy() const;

  // --- parts with rules of their own ------------------------------------------------------------
  PathTable& paths() const;
  StreamSet& streams() const;
  OneRttKeys& keys() const;

  // The connection carries messages that are not sent again: nothing waits for acknowledgements, so
  // few are asked for.
  void carry_messages();

  // --- packets that other nodes send (direct_return/) -------------------------------------------
  // They are on path 0, while no other path is open. Streams say by `RemoteStreams::assign` which
  // node has their bytes. A run is ordered when the scheduler chooses such a stream, and window and
  // pacer let it go.

  // Makes a sender, from 1 to 8, known before streams are assigned to it. The round trip is a guess
  // for the time before its first sample. An index may be opened again after `abandon_sender`.
  void open_sender(std::uint8_t sender, Duration initial_rtt);
  // Nothing is ordered before the first call.
  void set_run_limits(const RunLimits& limits);
  // `ordered` is called with each order, from within `Connection::poll_transmit`.
  void on_run_ordered(std::function<void()> ordered);
  // The owner has no streams of other nodes any more. Makes the connection what it was before.
  void end_runs();
  // First packets of streams, which their senders send without an order
  FirstPackets first_packets();
  // Returns the oldest order that was not taken. Call it after `Connection::poll_transmit` returned
  // nothing more, until it returns nothing.
  std::optional<RunOrder> poll_run();
  // The sender did not send a run, and never will.
  void refuse_run(std::uint8_t sender, PacketNumber first, std::size_t count, Time now);
  // The sender is gone: all that it has in flight is lost.
  void abandon_sender(std::uint8_t sender, Time now);

  // --- what a policy does -----------------------------------------------------------------------
  // Calls `PathPolicy::write_frames` for each packet while frames are due.
  void set_frames_due(bool due);
  void report(Event event);
  Path& make_path(PathEntry& entry, const AddressPair& addresses);
  // Abandons a path, of this side's own accord.
  void end_path(PathEntry& entry, TransportErrorCode error, Time now);
  // Handles a frame by which the peer abandons a path.
  TransportStatus on_path_abandoned(const PathAbandonFrame& frame, Time now);
  // Another server of the connection has heard the peer, so that the connection is not idle.
  void heard_elsewhere(Time now);
  // Closes the connection, since the peer broke a rule.
  void fail(const TransportError& error, Time now);
  // Ends the connection at once and silently.
  void finish(const ConnectionClosed& closed);

  // --- a connection whose handshake another server has run --------------------------------------
  TransportStatus set_peer_parameters(const TransportParameters& parameters);
  // Makes the connection established and confirmed.
  void establish(std::unique_ptr<PathPolicy> policy, Time now);

 private:
  ConnectionParts* parts_;
};

}  // namespace sheaf::quic
