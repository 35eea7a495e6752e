#pragma once

#include "connection/parts.h"
#include "connection/path_numbering.h"
#include "connection/path_selection.h"

namespace sheaf::quic {

// Returns the bytes of a run's packet around its payload: the short header, the header of the
// STREAM frame and the tag (connection/run_order.h).
std::size_t run_overhead(const ConnectionId& destination, StreamId stream);

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
  // Numbers a packet for the first bytes of a stream of which nothing was written
  // (`FirstPackets::reserve`).
  std::optional<FirstPacket> reserve_first(std::uint8_t sender, StreamId stream,
                                           std::size_t others);
  // The packet leaves. `fin`: it ends the stream.
  void on_first_sent(StreamId stream, const FirstPacket& first, bool fin);

 private:
  // Jumbo frames on this node's way to the client say nothing about the ways of others.
  std::size_t largest_packet() const {
    return std::min<std::size_t>(path_.mtu.current(), parts_.config.max_udp_payload_size);
  }
  // Whether a packet of another node may leave beside what is in flight, `others` included.
  bool quiet(std::size_t size, std::size_t others) const;
  void end_turn();
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
