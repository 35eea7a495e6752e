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
  void leave_hole_before(std::size_t packets) {
    const PacketNumber next = entry_.path->loss.sent().next_number();
    if (next + packets > entry_.skip_number_at) leave_hole();
  }
  // Packets that took their numbers, of this node or of a run, and their size together.
  struct Numbered {
    std::size_t packets = 0;
    std::uint64_t bytes = 0;
    bool ack_eliciting = false;
  };
  // Counts them on the path.
  void account(const Numbered& numbered, Ecn mark) {
    Path& path = *entry_.path;
    path.amplification.on_sent(numbered.bytes);
    path.bytes_sent += numbered.bytes;
    path.packets_sent += numbered.packets;
    if (parts_.config.use_ecn) path.ecn.on_sent(mark, numbered.packets);
    if (!numbered.ack_eliciting) return;
    parts_.path_scheduler->on_sent(path.id, numbered.bytes);
    path.pacer.on_sent(numbered.bytes, now_);
    parts_.idle.on_ack_eliciting_sent(now_);
    if (path.probe_credits > 0) --path.probe_credits;
  }

 private:
  void leave_hole();

  ConnectionParts& parts_;
  PathEntry& entry_;
  Time now_;
};

}  // namespace sheaf::quic
