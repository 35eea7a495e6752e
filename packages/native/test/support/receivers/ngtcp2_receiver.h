#pragma once

#include <cstdint>
#include <optional>

#include "support/receivers/receiver_model.h"

namespace sheaf::quic {

// ngtcp2, as curl uses it (ngtcp2_conn.c, ngtcp2_acktr.c). What it has seen and what it still
// acknowledges are two lists: with more gaps than it keeps, the lowest count as seen; with more
// ranges, the lowest are not acknowledged any more.
class Ngtcp2Receiver final : public ReceiverModel {
 public:
  static constexpr std::size_t k_max_gaps = 256;
  static constexpr std::size_t k_max_ranges = 33;

  const char* name() const override { return "ngtcp2"; }
  bool receive(PacketNumber number, bool ack_eliciting, Time now) override;
  std::vector<AckRange> acknowledge(Time now) override;
  void on_ack_acknowledged(std::span<const AckRange> reported) override;
  std::size_t ranges() const override { return unconfirmed_.size(); }

 private:
  IntervalSet seen_;
  IntervalSet unconfirmed_;
  std::optional<PacketNumber> largest_;
};

}  // namespace sheaf::quic
