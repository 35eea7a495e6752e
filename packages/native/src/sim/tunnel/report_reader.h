#pragma once

#include <optional>

#include "sim/connection_pair.h"
#include "tunnel/credit.h"
#include "tunnel/tecc.h"

namespace sheaf::quic {

// What a server does with the reports of its client's tunnel
struct ObedienceConfig {
  TeccConfig tecc{};
  std::optional<CreditConfig> credit{};  // in place of TECC's algorithm
  bool tolerates_reordering = true;
};

// The server of an inner connection that obeys the reports of its client's tunnel. They come in
// datagrams of the inner connection.
class ReportReader {
 public:
  // `server` uses CongestionAlgorithm::kOutsideRate, and outlives this object.
  ReportReader(ConnectionHost& server, const ObedienceConfig& config);

  void read(Time now);
  std::uint64_t reports() const { return reports_; }

 private:
  void obey(const FeedbackReport& report, Time now);

  ConnectionHost& server_;
  ObedienceConfig config_;
  Tecc tecc_;
  std::optional<Credit> credit_;
  std::uint64_t reports_ = 0;
};

}  // namespace sheaf::quic
