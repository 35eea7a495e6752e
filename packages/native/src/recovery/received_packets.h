#pragma once

#include <array>
#include <optional>

#include "util/time.h"
#include "wire/frame_codec.h"

namespace sheaf::quic {

// Packet numbers seen in one space, duplicates, and when an acknowledgement is due
// (RFC 9000 §13.2). Bounded: at most 64 ranges are kept, the oldest are forgotten, and numbers up
// to a forgotten range count as duplicates.
class ReceivedPackets {
 public:
  static constexpr std::size_t k_max_ranges = 64;

  bool is_duplicate(PacketNumber number) const {
    if (count_ == 0 || number > newest().last) return number < floor_;
    return is_old_duplicate(number);
  }
  std::optional<PacketNumber> largest() const {
    return count_ == 0 ? std::nullopt : std::optional(newest().last);
  }
  // A packet that was not seen before; a duplicate changes nothing.
  void on_received(PacketNumber number, Ecn ecn, bool ack_eliciting, Time now,
                   Duration max_ack_delay);
  // When an acknowledgement must go at the latest; k_never when none is owed. In the past = at once
  // (every second ack-eliciting packet, a gap, a CE mark).
  Time ack_deadline() const { return ack_deadline_; }
  // There is something that an ACK would report anew.
  bool ack_pending() const { return ack_pending_; }
  // Writes an ACK frame, or a PATH_ACK for `path`, if it fits; returns the largest number it
  // reports.
  std::optional<PacketNumber> write_ack(Writer& writer, std::uint8_t ack_delay_exponent, Time now,
                                        std::optional<PathId> path = std::nullopt);
  // The peer has our ACK that reported up to `largest_reported`: older ranges need not be repeated.
  void on_ack_acknowledged(PacketNumber largest_reported);
  const EcnCounts& ecn_counts() const { return ecn_counts_; }

 private:
  // Twice the limit, so that a new range at the front moves the others only once in 64 times.
  static constexpr std::size_t k_slots = 2 * k_max_ranges;

  const AckRange& newest() const { return slots_[first_]; }
  AckRange& newest() { return slots_[first_]; }
  bool is_old_duplicate(PacketNumber number) const;
  void push_newest(PacketNumber number);
  void insert_older(PacketNumber number);
  void insert_range(std::size_t index, PacketNumber number);
  void make_room_in_front();
  void drop_oldest();
  std::size_t reported_ranges() const;

  EcnCounts ecn_counts_;
  // From the largest down in slots_[first_, first_ + count_), as the ACK frame wants them.
  std::array<AckRange, k_slots> slots_;
  std::size_t first_ = k_slots;
  std::size_t count_ = 0;
  PacketNumber floor_ = 0;        // below it everything counts as received
  PacketNumber report_from_ = 0;  // ranges that end below it are known to the peer
  Time largest_received_at_{};
  Time ack_deadline_ = k_never;
  std::uint32_t ack_eliciting_unreported_ = 0;
  bool ack_pending_ = false;
};

}  // namespace sheaf::quic
