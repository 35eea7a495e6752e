#include "sim/tunnel/report_reader.h"

namespace sheaf::quic {

void ReportReader::read() {
  while (const auto datagram = server_.connection.datagrams().receive()) {
    const auto report = decode_feedback_report(*datagram);
    if (!report) continue;
    ++reports_;
    obey(*report);
  }
}

void ReportReader::obey(const FeedbackReport& report) {
  ApplicationPaths& paths = server_.connection.paths();
  const PathStats path = paths.stats().front();
  tecc_.on_report(report, path.minimum_rtt, path.mtu);
  static_cast<void>(paths.set_outside_rate(path.id, tecc_.rate().value_or(0)));
  // A packet that the tunnel sends again comes about one loss detection of the tunnel later.
  static_cast<void>(paths.tolerate_reordering(path.id, report.tunnel_round_trip * 9 / 8));
}

}  // namespace sheaf::quic
