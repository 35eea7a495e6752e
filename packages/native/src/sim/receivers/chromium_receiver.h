#pragma once

#include <optional>

#include "sim/receivers/receiver_model.h"

namespace sheaf::quic {

// google/quiche, as Chromium uses it (quic_received_packet_manager.cc, quic_connection.cc). When
// the server acknowledges an ACK, all numbers up to the largest that it reported are over, whether
// they arrived or not.
class ChromiumReceiver final : public ReceiverModel {
 public:
  static constexpr std::size_t k_max_ranges = 255;
  // From this number on it acknowledges seldom (kMinReceivedBeforeAckDecimation).
  static constexpr PacketNumber k_seldom_from = 100;

  // `min_rtt` bounds how long ACKs wait after the first packets.
  explicit ChromiumReceiver(Duration min_rtt) : min_rtt_(min_rtt) {}

  const char* name() const override { return "chromium"; }
  bool receive(PacketNumber number, bool ack_eliciting, Time now) override;
  std::vector<AckRange> acknowledge(Time now) override;
  void on_ack_acknowledged(std::span<const AckRange> reported) override;
  std::size_t ranges() const override { return numbers_.size(); }

 private:
  bool has_new_gap() const;
  Duration ack_delay(PacketNumber number) const;

  Duration min_rtt_;
  IntervalSet numbers_;
  std::optional<PacketNumber> largest_;
  std::optional<PacketNumber> reported_;  // the largest of the last ACK
  PacketNumber floor_ = 0;                // lower numbers are over
};

}  // namespace sheaf::quic
