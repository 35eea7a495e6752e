#pragma once

#include <array>
#include <optional>
#include <span>

#include "connection/parts.h"

namespace sheaf::quic {

// Chooses the path for data that any path could carry. Shows the scheduler the open paths, and
// enforces the rules that hold whatever it decides.
class PathSelection {
 public:
  PathSelection(ConnectionParts& parts, Time now) : parts_(parts), now_(now) {}

  // The next packet with streams, datagrams or control frames goes on this path.
  bool chooses(const PathEntry& entry) {
    if (entry.rules.apart) return false;
    return !parts_.paths.several_open() || chooses_among_several(entry);
  }
  // Returns the basis of the last choice, for the stream scheduler.
  SendOpportunity opportunity(const PathEntry& entry) const {
    return {.path = entry.id, .paths = usable_};
  }
  // The path's acknowledgements go on the other paths to the same peer: it is abandoned, or seems
  // not to work.
  bool acknowledged_elsewhere(const PathEntry& entry) const;
  // Either side wants the path used only when nothing else works.
  static bool is_backup(const PathEntry& entry);
  // Some path may carry the path's acknowledgements. Otherwise there is nothing to wake up for: the
  // datagram or the id that changes this wakes the connection.
  static bool acknowledgement_can_leave(const ConnectionParts& parts, const PathEntry& entry);

 private:
  using Snapshots = std::array<PathSnapshot, 2 * PathIds::k_max_concurrent>;
  bool chooses_among_several(const PathEntry& entry);
  std::size_t fill(Snapshots& snapshots, bool validated_only) const;
  PathSnapshot snapshot(const PathEntry& entry) const;
  Duration until_room(const Path& path) const;
  static bool left_to_others(const PathEntry& entry);
  SendDemand demand() const;

  ConnectionParts& parts_;
  Time now_;
  std::optional<Snapshots> snapshots_;  // only where there are several paths
  std::span<const PathSnapshot> usable_;
};

}  // namespace sheaf::quic
