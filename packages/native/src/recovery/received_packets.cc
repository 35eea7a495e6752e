#include "recovery/received_packets.h"

#include <algorithm>

namespace sheaf::quic {

namespace {

// Bounds of what a peer may ask for. Beyond, an acknowledgement costs nearly nothing, and waiting
// for one costs the peer alone.
constexpr std::uint32_t k_max_threshold = 256;
constexpr Duration k_max_taken_delay = std::chrono::seconds(1);
// Ranges that were never reported. With more of them some could be dropped before they are
// (draft-ietf-quic-ack-frequency-11 §6).
constexpr std::uint32_t k_max_ranges_unreported = ReceivedPackets::k_max_ranges / 2;

}  // namespace

bool ReceivedPackets::is_old_duplicate(PacketNumber number) const {
  if (number < floor_) return true;
  const auto begin = slots_.begin() + static_cast<std::ptrdiff_t>(first_);
  const auto end = begin + static_cast<std::ptrdiff_t>(count_);
  const auto range = std::partition_point(
      begin, end, [number](const AckRange& candidate) { return candidate.first > number; });
  return range != end && number <= range->last;
}

void ReceivedPackets::make_room_in_front() {
  if (first_ > 0) return;
  const auto begin = slots_.begin();
  std::move_backward(begin, begin + static_cast<std::ptrdiff_t>(count_), slots_.end());
  first_ = k_slots - count_;
}

void ReceivedPackets::drop_oldest() {
  --count_;
  floor_ = slots_[first_ + count_].last + 1;
}

void ReceivedPackets::set_frequency(const AckFrequency& frequency) {
  frequency_ = frequency;
  frequency_.threshold = std::min(frequency.threshold, k_max_threshold);
  frequency_.max_ack_delay = std::min(frequency.max_ack_delay, k_max_taken_delay);
  delay_was_chosen_ = true;
}

void ReceivedPackets::push_newest(PacketNumber number) {
  if (count_ == k_max_ranges) drop_oldest();
  make_room_in_front();
  slots_[--first_] = {number, number};
  ++count_;
  ++ranges_unreported_;
}

void ReceivedPackets::insert_older(PacketNumber number) {
  const auto begin = slots_.begin() + static_cast<std::ptrdiff_t>(first_);
  const auto end = begin + static_cast<std::ptrdiff_t>(count_);
  // `before` is the first range that ends below the number, so the range in front of it lies above.
  const auto before = std::partition_point(
      begin, end, [number](const AckRange& candidate) { return candidate.last > number; });
  const auto after = before - 1;
  const bool joins_after = after->first == number + 1;
  const bool joins_before = before != end && before->last + 1 == number;
  if (joins_after && joins_before) {
    after->first = before->first;
    std::move(before + 1, end, before);
    --count_;
  } else if (joins_after) {
    after->first = number;
  } else if (joins_before) {
    before->last = number;
  } else {
    insert_range(static_cast<std::size_t>(before - begin), number);
  }
}

void ReceivedPackets::insert_range(std::size_t index, PacketNumber number) {
  if (count_ == k_max_ranges) {
    drop_oldest();
    if (number < floor_) return;
  }
  make_room_in_front();
  const auto begin = slots_.begin() + static_cast<std::ptrdiff_t>(first_);
  std::move(begin, begin + static_cast<std::ptrdiff_t>(index), begin - 1);
  --first_;
  slots_[first_ + index] = {number, number};
  ++count_;
  ++ranges_unreported_;
}

void ReceivedPackets::set_hold(Duration hold) {
  if (!waiting_ && hold > Duration::zero()) waiting_ = std::make_unique<WaitingPackets>();
  if (waiting_) waiting_->set_hold(hold);
}

void ReceivedPackets::wait(PacketNumber number, Ecn ecn, bool ack_eliciting, Time now,
                           Duration max_ack_delay, bool confirms) {
  if (is_duplicate(number)) return;
  release_waiting(now);
  if (!waiting_->must_wait(confirms)) {
    return record(number, ecn, ack_eliciting, now, max_ack_delay);
  }
  waiting_->push({.number = number,
                  .arrived = now,
                  .max_ack_delay = max_ack_delay,
                  .ecn = ecn,
                  .ack_eliciting = ack_eliciting},
                 confirms);
}

void ReceivedPackets::release_waiting(Time now) {
  waiting_->release_until(now, [this](const WaitingPackets::Packet& packet) {
    record(packet.number, packet.ecn, packet.ack_eliciting, packet.arrived, packet.max_ack_delay);
  });
}

void ReceivedPackets::record(PacketNumber number, Ecn ecn, bool ack_eliciting, Time now,
                             Duration max_ack_delay) {
  bool out_of_order = false;
  if (count_ > 0 && number == newest().last + 1) {
    newest().last = number;
    largest_received_at_ = now;
  } else if (count_ == 0 || number > newest().last) {
    out_of_order = number > 0;
    push_newest(number);
    largest_received_at_ = now;
  } else {
    if (is_old_duplicate(number)) return;
    out_of_order = true;
    insert_older(number);
    report_from_ = std::min(report_from_, number);
  }
  count_mark(ecn);
  ack_pending_ = true;
  if (ack_eliciting) {
    ++ack_eliciting_unreported_;
    const Duration delay = delay_was_chosen_ ? frequency_.max_ack_delay : max_ack_delay;
    const bool at_once = due_at_once(number, out_of_order, ecn);
    ack_deadline_ = std::min(ack_deadline_, at_once ? now : now + delay);
  }
  previous_ce_ = ecn == Ecn::kCe;
}

void ReceivedPackets::count_mark(Ecn ecn) {
  switch (ecn) {
    case Ecn::kNotEct:
      break;
    case Ecn::kEct0:
      ++ecn_counts_.ect0;
      break;
    case Ecn::kEct1:
      ++ecn_counts_.ect1;
      break;
    case Ecn::kCe:
      ++ecn_counts_.ce;
      break;
  }
}

bool ReceivedPackets::due_at_once(PacketNumber number, bool out_of_order, Ecn ecn) const {
  if (ack_eliciting_unreported_ > frequency_.threshold) return true;
  if (ranges_unreported_ >= k_max_ranges_unreported) return true;
  // draft-ietf-quic-ack-frequency-11 §6.3: with a larger threshold only the first of several marks.
  if (ecn == Ecn::kCe && (frequency_.threshold <= 1 || !previous_ce_)) return true;
  return outside_reordering_window(number, out_of_order);
}

// Returns whether the peer could declare a packet lost, or learn of a loss that was none (§6.2).
bool ReceivedPackets::outside_reordering_window(PacketNumber number, bool out_of_order) const {
  const PacketNumber threshold = frequency_.reordering_threshold;
  if (threshold == 0) return false;
  // RFC 9000 §13.2.1: a packet out of order is acknowledged at once.
  if (threshold == 1) return out_of_order;
  // Everything up to here is missing for good as far as the peer knows.
  const bool any_reported = largest_acknowledged_ != k_no_packet_number;
  const PacketNumber known_until = any_reported && largest_acknowledged_ >= threshold
                                       ? largest_acknowledged_ - threshold + 1
                                       : 0;
  if (out_of_order && number < known_until) return true;
  std::optional<PacketNumber> smallest_missing;
  for (std::size_t i = first_; i + 1 < first_ + count_ && slots_[i].first > known_until; ++i) {
    smallest_missing = std::max(slots_[i + 1].last + 1, known_until);
  }
  return smallest_missing && newest().last - *smallest_missing >= threshold;
}

std::size_t ReceivedPackets::reported_ranges() const {
  const auto begin = slots_.begin() + static_cast<std::ptrdiff_t>(first_);
  const auto end =
      std::partition_point(begin, begin + static_cast<std::ptrdiff_t>(count_),
                           [this](const AckRange& range) { return range.last >= report_from_; });
  return std::max<std::size_t>(1, static_cast<std::size_t>(end - begin));
}

std::optional<PacketNumber> ReceivedPackets::write_ack(Writer& writer,
                                                       std::uint8_t ack_delay_exponent, Time now,
                                                       std::optional<PathId> path) {
  release(now);
  if (count_ == 0) return std::nullopt;
  const auto held = std::chrono::duration_cast<std::chrono::microseconds>(
      std::max(now - largest_received_at_, Duration::zero()));
  const auto delay = static_cast<std::uint64_t>(held.count()) >> ack_delay_exponent;
  const bool marked = ecn_counts_ != EcnCounts{};
  const std::span<const AckRange> ranges(&slots_[first_], reported_ranges());
  const auto counts = marked ? std::optional(ecn_counts_) : std::nullopt;
  if (encode_ack(writer, ranges, delay, counts, path) == 0) {
    return std::nullopt;
  }
  ack_pending_ = false;
  ack_eliciting_unreported_ = 0;
  ranges_unreported_ = 0;
  largest_acknowledged_ = newest().last;
  ack_deadline_ = k_never;
  return newest().last;
}

void ReceivedPackets::on_ack_acknowledged(PacketNumber largest_reported) {
  report_from_ = std::max(report_from_, largest_reported + 1);
}

}  // namespace sheaf::quic
