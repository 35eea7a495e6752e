#include "connection/tunnel_reports.h"

#include "connection/parts.h"
#include "recovery/write_frame.h"

namespace sheaf::quic {

namespace {

using std::chrono::milliseconds;

// Reports come once in a round trip of the tunnel. After so many without one, the connection is an
// ordinary one again.
constexpr int k_missing_reports = 3;
constexpr Duration k_shortest_cycle = milliseconds(5);
constexpr Duration k_longest_guidance = std::chrono::seconds(2);

}  // namespace

void OutgoingTunnelReport::write_frame(Writer& writer, SentPackets& sent) {
  const TunnelReportFrame frame{Bytes(report_).first(length_)};
  if (quic::write_frame(writer, sent, frame, SentFrame::plain(SentFrame::Kind::kTunnelReport))) {
    length_ = 0;
  }
}

bool follow_tunnel_report(ConnectionParts& parts, PathEntry& entry, Bytes bytes, Time now) {
  const auto report = decode_feedback_report(bytes);
  if (!report) return false;
  ++parts.stats.tunnel_reports_received;
  if (!entry.tunnel_credit) entry.tunnel_credit = std::make_unique<Credit>(CreditConfig{});
  Path& path = *entry.path;
  const Credit::Sender sender{.round_trip = path.rtt.minimum(),
                              .bytes_sent = path.bytes_sent,
                              .packet_size = path.mtu.current()};
  if (!entry.tunnel_credit->on_report(*report, sender, now)) return true;
  const Duration cycle = std::max(report->tunnel_round_trip, k_shortest_cycle);
  const Duration lasts =
      std::min(k_missing_reports * cycle + path.rtt.smoothed(), k_longest_guidance);
  path.follow({.now = now,
               .until = now + lasts,
               .rate = entry.tunnel_credit->rate(),
               .bytes = entry.tunnel_credit->bytes()});
  // A packet that the tunnel sends again comes about one loss detection of the tunnel later.
  path.loss.reordering.expect(
      std::min<Duration>(report->tunnel_round_trip * 9 / 8, path.rtt.smoothed()));
  return true;
}

}  // namespace sheaf::quic
