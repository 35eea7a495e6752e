#pragma once

#include "connection/parts.h"
#include "connection/path_numbering.h"
#include "connection/path_selection.h"

namespace sheaf::quic {

// Orders other nodes to send the data that is next on a path (connection/run_order.h). The
// connection has `ConnectionParts::runs`.
class RunBuilder {
 public:
  // `selection` has chosen the path. `reserved` are bytes of the window that data leaves alone.
  RunBuilder(ConnectionParts& parts, PathEntry& entry, const PathSelection& selection,
             std::uint64_t reserved, Time now)
      : parts_(parts),
        entry_(entry),
        path_(*entry.path),
        selection_(selection),
        numbering_(parts, entry, now),
        reserved_(reserved),
        now_(now) {}

  enum class Outcome : std::uint8_t {
    kNone,     // this node has something to send first
    kOrdered,  // look again
    kBlocked,  // a run is next, or data after one, and has to wait
  };
  // Whether the path may have runs at all, now.
  bool possible() const;
  // `unsealed`: packets of this node have numbers, and are not sealed yet.
  Outcome order(bool unsealed);

 private:
  RunExtent extent_of(const RemoteTurn& turn, std::size_t overhead);
  void number(const RemoteTurn& turn, const RunExtent& extent, std::size_t overhead);
  void log(PacketNumber first, std::size_t count, std::size_t bytes);

  ConnectionParts& parts_;
  PathEntry& entry_;
  Path& path_;
  const PathSelection& selection_;
  PathNumbering numbering_;
  std::uint64_t reserved_;
  Time now_;
};

}  // namespace sheaf::quic
