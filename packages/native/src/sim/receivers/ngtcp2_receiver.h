#pragma once

#include <cstddef>

#include "sim/receivers/reporting_receiver.h"

namespace sheaf::quic {

// ngtcp2, as curl uses it (ngtcp2_conn.c, ngtcp2_acktr.c). What it has seen and what it still
// acknowledges are two lists: with more gaps than it keeps, the lowest count as seen; with more
// ranges, the lowest are not acknowledged any more.
class Ngtcp2Receiver final : public ReportingReceiver {
 public:
  static constexpr std::size_t k_max_gaps = 256;
  static constexpr std::size_t k_max_ranges = 33;

  Ngtcp2Receiver() : ReportingReceiver(k_max_ranges) {}

  const char* name() const override { return "ngtcp2"; }
  bool receive(PacketNumber number, bool ack_eliciting, Time now) override;
};

}  // namespace sheaf::quic
