#pragma once

#include <array>

#include "connection/parts.h"

namespace sheaf::quic {

// Which path carries what any path could: shows the scheduler what is open, and keeps the rules
// that hold whatever it decides.
class PathSelection {
 public:
  PathSelection(Connection::Parts& parts, Time now) : parts_(parts), now_(now) {}

  // The next packet with streams, datagrams or control frames goes on this path.
  bool chooses(const PathEntry& entry);
  // Its acknowledgements go on the other paths: it is abandoned, or does not seem to work.
  bool acknowledged_elsewhere(const PathEntry& entry) const;
  // Either side wants it used only when nothing else works.
  static bool is_backup(const PathEntry& entry);
  // Some path may carry its acknowledgements. What may not leave is nothing to wake up for: the
  // datagram or the id that changes this does.
  bool acknowledgement_can_leave(const PathEntry& entry) const;

 private:
  std::size_t fill_snapshots(bool validated_only);
  PathSnapshot snapshot(const PathEntry& entry) const;
  static bool left_to_others(const PathEntry& entry);
  SendDemand demand() const;

  Connection::Parts& parts_;
  Time now_;
  std::array<PathSnapshot, 2 * PathTable::k_max_concurrent> snapshots_{};
};

}  // namespace sheaf::quic
