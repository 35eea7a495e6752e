#pragma once

#include <optional>

#include "util/time.h"
#include "wire/frame_codec.h"

namespace sheaf::quic {

// Packet numbers seen in one space, duplicates, and when an acknowledgement is due
// (RFC 9000 §13.2). Bounded: at most 64 ranges are kept, the oldest are forgotten, and numbers below
// the oldest kept range count as duplicates.
class ReceivedPackets {
 public:
  static constexpr std::size_t k_max_ranges = 64;

  bool is_duplicate(PacketNumber number) const;
  std::optional<PacketNumber> largest() const;
  void on_received(PacketNumber number, Ecn ecn, bool ack_eliciting, Time now,
                   Duration max_ack_delay);
  // When an acknowledgement must go at the latest; k_never when none is owed. In the past = at once
  // (every second ack-eliciting packet, a gap, a CE mark).
  Time ack_deadline() const;
  bool ack_pending() const;  // there is something that an ACK would report anew
  // Writes an ACK frame if it fits; returns the largest number it reports.
  std::optional<PacketNumber> write_ack(Writer& writer, std::uint8_t ack_delay_exponent, Time now);
  // The peer has our ACK that reported up to `largest_reported`: older ranges need not be repeated.
  void on_ack_acknowledged(PacketNumber largest_reported);
  const EcnCounts& ecn_counts() const { return ecn_counts_; }

 private:
  EcnCounts ecn_counts_;
  // The owner of this file completes the private state.
};

}  // namespace sheaf::quic
