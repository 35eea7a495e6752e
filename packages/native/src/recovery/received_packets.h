#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <optional>

#include "recovery/ack_frequency.h"
#include "recovery/waiting_packets.h"
#include "util/time.h"
#include "wire/frame_codec.h"

namespace sheaf::quic {

// The packet numbers seen in one space. Finds duplicates, and says when an acknowledgement is due
// (RFC 9000 §13.2). Keeps at most 64 ranges: the oldest ranges are forgotten, and numbers up to a
// forgotten range count as duplicates.
class ReceivedPackets {
 public:
  static constexpr std::size_t k_max_ranges = 64;

  bool is_duplicate(PacketNumber number) const {
    if (waiting_ && waiting_->contains(number)) return true;
    if (count_ == 0 || number > newest().last) return number < floor_;
    return is_old_duplicate(number);
  }
  std::optional<PacketNumber> largest() const {
    const auto recorded = count_ == 0 ? std::nullopt : std::optional(newest().last);
    return waiting_ ? std::max(recorded, waiting_->largest()) : recorded;
  }
  // Sets when acknowledgements leave from now on. Bounds what a peer may ask for: an
  // acknowledgement may always come sooner.
  void set_frequency(const AckFrequency& frequency);
  // How long a packet waits that carried an ACK with a number below which something is on its way
  // to the peer (recovery/waiting_packets.h); at most the `max_ack_delay` of `on_received`.
  void set_hold(Duration hold);
  // Called for every packet that is not a duplicate; a duplicate changes nothing. `max_ack_delay`
  // holds until `set_frequency` names another. `confirms`: it carried such an ACK.
  void on_received(PacketNumber number, Ecn ecn, bool ack_eliciting, Time now,
                   Duration max_ack_delay, bool confirms = false) {
    if (waiting_) return wait(number, ecn, ack_eliciting, now, max_ack_delay, confirms);
    record(number, ecn, ack_eliciting, now, max_ack_delay);
  }
  // Lets packets be acknowledged that have waited until now. Called before the deadline is compared
  // with the time.
  void release(Time now) {
    if (waiting_) release_waiting(now);
  }
  // Makes an acknowledgement due of everything that need not wait: the peer asked for one
  // (IMMEDIATE_ACK).
  void acknowledge_at_once(Time now) {
    if (ack_pending_) ack_deadline_ = std::min(ack_deadline_, now);
  }
  // Returns when an acknowledgement must leave at the latest, or may leave that had to wait;
  // k_never when none is owed. A time in the past means at once: after a gap, a CE mark or as many
  // ack-eliciting packets as the peer chose, by default every second one.
  Time ack_deadline() const {
    return waiting_ ? std::min(ack_deadline_, waiting_->deadline()) : ack_deadline_;
  }
  // Returns whether an ACK would report anything new.
  bool ack_pending() const { return ack_pending_; }
  // Writes an ACK frame, or a PATH_ACK frame for `path`, if it fits. Returns the largest number
  // that it reports.
  std::optional<PacketNumber> write_ack(Writer& writer, std::uint8_t ack_delay_exponent, Time now,
                                        std::optional<PathId> path = std::nullopt);
  // Called when the peer has received an ACK that reported up to `largest_reported`: older ranges
  // need not be repeated.
  void on_ack_acknowledged(PacketNumber largest_reported);
  const EcnCounts& ecn_counts() const { return ecn_counts_; }

 private:
  // Above the limit, so that a new range in front moves the others only once in 32 times. Every
  // path has them, so there are no more.
  static constexpr std::size_t k_slots = k_max_ranges + 32;

  const AckRange& newest() const { return slots_[first_]; }
  AckRange& newest() { return slots_[first_]; }
  bool is_old_duplicate(PacketNumber number) const;
  void release_waiting(Time now);
  void wait(PacketNumber number, Ecn ecn, bool ack_eliciting, Time now, Duration max_ack_delay,
            bool confirms);
  void record(PacketNumber number, Ecn ecn, bool ack_eliciting, Time now, Duration max_ack_delay);
  void count_mark(Ecn ecn);
  bool due_at_once(PacketNumber number, bool out_of_order, Ecn ecn) const;
  bool outside_reordering_window(PacketNumber number, bool out_of_order) const;
  void push_newest(PacketNumber number);
  void insert_older(PacketNumber number);
  void insert_range(std::size_t index, PacketNumber number);
  void make_room_in_front();
  void drop_oldest();
  std::size_t reported_ranges() const;

  EcnCounts ecn_counts_;
  // The ranges in slots_[first_, first_ + count_), from the largest down as the ACK frame lists
  // them.
  std::array<AckRange, k_slots> slots_;
  std::size_t first_ = k_slots;
  std::size_t count_ = 0;
  PacketNumber floor_ = 0;        // all numbers below count as received
  PacketNumber report_from_ = 0;  // the peer knows ranges that end below
  Time largest_received_at_{};
  Time ack_deadline_ = k_never;
  AckFrequency frequency_;
  bool delay_was_chosen_ = false;
  std::uint32_t ack_eliciting_unreported_ = 0;
  std::uint32_t ranges_unreported_ = 0;
  PacketNumber largest_acknowledged_ = k_no_packet_number;  // by an ACK that was written
  bool previous_ce_ = false;                                // of the packet before
  bool ack_pending_ = false;
  std::unique_ptr<WaitingPackets> waiting_;  // null where nothing ever waited
};

}  // namespace sheaf::quic
