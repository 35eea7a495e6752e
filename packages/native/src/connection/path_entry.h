#pragma once

#include <memory>
#include <optional>

#include "connection/connection_ids.h"
#include "connection/path_rules.h"
#include "path/path.h"
#include "tunnel/credit.h"
#include "util/ring.h"

namespace sheaf::quic {

// How one side wants a path to be used (RFC 10069 §3.3, §4.3). A path is available until a frame
// says otherwise.
struct PathPreference {
  PathStatus status = PathStatus::kAvailable;
  std::optional<std::uint64_t> sequence;  // of the newest frame
  bool frame_due = false;                 // own side only
};

// The end of a path (RFC 10069 §3.4). Received packets are still acknowledged for a while, but
// nothing is sent on the path.
struct Abandonment {
  std::uint64_t error = 0;
  bool frame_due = true;
  bool frame_acknowledged = false;
  bool by_peer = false;      // its PATH_ABANDON has arrived
  Time forget_at = k_never;  // 3 probe timeouts after both sides said it
};

// Addresses that a path does not use: the peer probes them (RFC 9000 §9.1), or the path has left
// them (§9.3.3). They have an allowance of their own.
struct OtherAddresses {
  AddressPair addresses;
  AntiAmplification amplification{};
  PathResponses responses{};
  PathValidation validation{};                // of those that were left
  std::optional<ConnectionId> destination{};  // the peer's id for them; none: nothing can be sent
  Time until = k_never;                       // when those that were left are forgotten

  bool wants_to_send(Time now) const {
    return destination && (responses.due() || validation.challenge_due(now));
  }
};

// Everything that belongs to one path id, from the first connection id issued for it to the end of
// its abandonment. The path itself begins with its first packet.
struct PathEntry {
  PathEntry(PathId path_id, std::uint64_t active_connection_id_limit)
      : id(path_id), remote_ids(active_connection_id_limit) {}

  PathId id;
  LocalConnectionIds local_ids;
  RemoteConnectionIds remote_ids;
  PathPreference own_preference;
  PathPreference peer_preference;
  std::unique_ptr<Path> path;
  std::unique_ptr<Credit> tunnel_credit;  // absent before the first report of a tunnel
  std::optional<Abandonment> abandonment;
  bool cids_blocked_due = false;
  std::unique_ptr<OtherAddresses> probed;  // one pair at a time
  std::unique_ptr<OtherAddresses> former;  // those before the last change
  ConnectionId used_id;                    // of ours, in the newest packet on the path's addresses
  std::uint32_t weight = 1;                // for the weighted scheduler
  // STREAM frames that other paths sent and this one repeats, for a scheduler that duplicates.
  // Bounded: the oldest are dropped first.
  Ring<SentFrame> copies;
  static constexpr std::size_t k_max_copies = 4096;
  PathRules rules;
  std::uint64_t key_generation = 0;  // the latest that was heard here
  Time last_heard{};                 // of the newest packet
  Time silent_since{};               // of the first probe timeout since something was acknowledged
  PacketNumber skip_number_at = 0;   // next packet number that is left unused

  // PATH_NEW_CONNECTION_ID, PATH_RETIRE_CONNECTION_ID and the like wait to be sent.
  bool frames_due() const {
    // RFC 10069 §3.4: all ids of an abandoned path count as retired.
    if (abandonment) return abandonment->frame_due;
    return local_ids.has_pending() || remote_ids.has_retirements() || own_preference.frame_due ||
           cids_blocked_due;
  }
  // Nothing has been acknowledged since a probe timeout.
  bool suspect() const { return path->loss.probe_count() > 0; }
  bool open() const { return path && !abandonment; }
  // Frames about the path travel on the path itself.
  bool on_own_path() const { return rules.apart && open(); }
  // This node receives nothing on the path: it is abandoned, or another node receives it.
  bool silenced() const { return rules.apart && !open(); }
  // Packets can be sent on the path.
  bool usable() const { return open() && remote_ids.assigned(); }
};

}  // namespace sheaf::quic
