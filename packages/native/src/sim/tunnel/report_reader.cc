#include "sim/tunnel/report_reader.h"

namespace sheaf::quic {

ReportReader::ReportReader(ConnectionHost& server, const ObedienceConfig& config)
    : server_(server), config_(config), tecc_(config.tecc) {
  if (config.credit) credit_.emplace(*config.credit);
}

void ReportReader::read(Time now) {
  while (const auto datagram = server_.connection.datagrams().receive()) {
    const auto report = decode_feedback_report(datagram->payload);
    if (!report) continue;
    ++reports_;
    obey(*report, now);
  }
}

void ReportReader::obey(const FeedbackReport& report, Time now) {
  ApplicationPaths& paths = server_.connection.paths();
  const PathStats path = paths.stats().front();
  if (credit_) {
    const Credit::Sender sender{
        .round_trip = path.minimum_rtt, .bytes_sent = path.bytes_sent, .packet_size = path.mtu};
    if (!credit_->on_report(report, sender, now)) return;
    static_cast<void>(paths.set_outside_credit(path.id, credit_->rate(), credit_->bytes()));
  } else {
    tecc_.on_report(report, path.minimum_rtt, path.mtu);
    static_cast<void>(paths.set_outside_rate(path.id, tecc_.rate().value_or(0)));
  }
  // A packet that the tunnel sends again comes about one loss detection of the tunnel later.
  if (!config_.tolerates_reordering) return;
  static_cast<void>(paths.tolerate_reordering(path.id, report.tunnel_round_trip * 9 / 8));
}

}  // namespace sheaf::quic
