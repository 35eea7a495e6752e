#pragma once

#include <array>
#include <optional>
#include <span>

#include "connection/parts.h"

namespace sheaf::quic {

// Which path carries what any path could: shows the scheduler what is open, and keeps the rules
// that hold whatever it decides.
class PathSelection {
 public:
  PathSelection(ConnectionParts& parts, Time now) : parts_(parts), now_(now) {}

  // The next packet with streams, datagrams or control frames goes on this path.
  bool chooses(const PathEntry& entry) {
    if (entry.rules.apart) return false;
    return parts_.paths.open_count() < 2 || chooses_among_several(entry);
  }
  // What the last answer was based on, for the stream scheduler.
  SendOpportunity opportunity(const PathEntry& entry) const {
    return {.path = entry.id, .paths = usable_};
  }
  // Its acknowledgements go on the other paths to the same peer: it is abandoned, or does not seem
  // to work.
  bool acknowledged_elsewhere(const PathEntry& entry) const;
  // Either side wants it used only when nothing else works.
  static bool is_backup(const PathEntry& entry);
  // Some path may carry its acknowledgements. What may not leave is nothing to wake up for: the
  // datagram or the id that changes this does.
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
