#pragma once

#include "connection/parts.h"

namespace sheaf::quic {

// What happens on a path when packets take their numbers, whichever node sends them.
class PathNumbering {
 public:
  PathNumbering(ConnectionParts& parts, PathEntry& entry, Time now)
      : parts_(parts), entry_(entry), now_(now) {}

  // Leaves a number out (RFC 9000 §21.4) if a hole is due below the end of the next `packets`
  // packets, at most `k_max_run`: no hole lies inside a run.
  void leave_hole_before(std::size_t packets);
  // Packets that took their numbers, of this node or of a run, and their size together.
  struct Numbered {
    std::size_t packets = 0;
    std::uint64_t bytes = 0;
    bool ack_eliciting = false;
  };
  // Counts them on the path.
  void account(const Numbered& numbered, Ecn mark);

 private:
  ConnectionParts& parts_;
  PathEntry& entry_;
  Time now_;
};

}  // namespace sheaf::quic
