#pragma once

#include "connection/parts.h"
#include "connection/path_refusal.h"

namespace sheaf::quic {

// RFC 10069 §3: opens, validates, prefers and abandons paths, and hands out their connection ids.
class PathManagement {
 public:
  PathManagement(ConnectionParts& parts, Time now) : parts_(parts), now_(now) {}

  // Begins to use multipath when both sides announced `initial_max_path_id`. PROTOCOL_VIOLATION
  // when the peer uses a connection id of length zero (§2.1).
  TransportStatus enable(const TransportParameters& peer);
  // Issues connection ids for every path id that both sides may use (§3.2.1).
  void issue_connection_ids();
  void issue_connection_ids(PathEntry& entry);

  // --- application ----------------------------------------------------------------------------
  Result<PathId, PathRefusal> open(const AddressPair& addresses);
  Status<PathRefusal> abandon(PathId id, std::uint64_t error);
  Status<PathRefusal> set_status(PathId id, PathStatus status);

  // Abandons a path, even the last one, because this side or the peer says so.
  void end(PathEntry& entry, std::uint64_t error, bool by_peer);
  void end(PathEntry& entry, TransportErrorCode error, bool by_peer) {
    end(entry, static_cast<std::uint64_t>(error), by_peer);
  }

  // --- packets and timers -----------------------------------------------------------------------
  // Server: makes the path of the first packet on a path id.
  void accept(PathEntry& entry, const AddressPair& addresses);
  // Both sides: the addresses of the path are known to work now.
  void on_validated(PathEntry& entry);
  static Time next_timeout(const ConnectionParts& parts);
  void on_timeout();

  // --- frames -----------------------------------------------------------------------------------
  TransportStatus on_frame(const PathAbandonFrame& frame);
  TransportStatus on_frame(const PathStatusFrame& frame);
  TransportStatus on_frame(const PathNewConnectionIdFrame& frame);
  TransportStatus on_frame(const PathRetireConnectionIdFrame& frame);
  TransportStatus on_frame(const MaxPathIdFrame& frame);
  TransportStatus on_frame(const PathsBlockedFrame& frame);
  TransportStatus on_frame(const PathCidsBlockedFrame& frame);

 private:
  void leave(PathEntry& entry);
  void fail_validation(PathEntry& entry);
  // Tells the peer why a path could not be opened.
  PathRefusal say_what_is_missing();
  // Called where ids were used, given or lost.
  void announce_availability();

  ConnectionParts& parts_;
  Time now_;
};

}  // namespace sheaf::quic
