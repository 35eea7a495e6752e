#pragma once

#include "sim/connection_pair.h"
#include "tunnel/tecc.h"

namespace sheaf::quic {

// The server of an inner connection that obeys the reports of its client's tunnel. They come in
// datagrams of the inner connection.
class ReportReader {
 public:
  // `server` uses CongestionAlgorithm::kOutsideRate, and outlives this object.
  ReportReader(ConnectionHost& server, const TeccConfig& config) : server_(server), tecc_(config) {}

  void read();
  std::uint64_t reports() const { return reports_; }
  const Tecc& tecc() const { return tecc_; }

 private:
  void obey(const FeedbackReport& report);

  ConnectionHost& server_;
  Tecc tecc_;
  std::uint64_t reports_ = 0;
};

}  // namespace sheaf::quic
