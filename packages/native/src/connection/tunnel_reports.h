#pragma once

#include <algorithm>
#include <array>

#include "recovery/sent_packets.h"
#include "tunnel/feedback_report.h"

namespace sheaf::quic {

struct ConnectionParts;
struct PathEntry;

// The newest report about the tunnel that carries a connection, which waits to be sent
// (docs/reference/wire.md). An older one is worth nothing any more.
class OutgoingTunnelReport {
 public:
  bool has_pending() const { return length_ > 0; }
  // Returns false for more bytes than a report has.
  bool set(Bytes report) {
    if (report.size() > report_.size()) return false;
    std::ranges::copy(report, report_.begin());
    length_ = report.size();
    return true;
  }
  void write_frame(Writer& writer, SentPackets& sent);

 private:
  std::array<std::uint8_t, k_longest_feedback_report> report_{};
  std::size_t length_ = 0;
};

// Makes a path follow what a report says about the tunnel that it runs through. Returns false when
// the bytes are no report.
bool follow_tunnel_report(ConnectionParts& parts, PathEntry& entry, Bytes report, Time now);

}  // namespace sheaf::quic
