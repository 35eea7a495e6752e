#include "channel/source_repairs.h"

#include <algorithm>

#include "fec/encoder.h"

namespace sheaf::quic {
namespace {

// Receivers read numbers around the first one, since nothing proves later ones.
constexpr PacketNumber k_max_number = std::uint64_t{1} << 31;

// Moves a number up to the first packet that was sent after `time`.
void skip_older(PacketNumber& first, const PacketRing& log, PacketNumber sent_end, Time time) {
  first = std::max(first, log.oldest());
  while (first < sent_end && !(log.contains(first) && log.kept_at(first) > time)) ++first;
}

}  // namespace

SourceRepairs::SourceRepairs(const ChannelOffer& offer)
    : id_(repair_id(offer.channel)),
      packet_size_(offer.packet_size),
      patience_(offer.deadline / 2),
      gather_(offer.report_interval / 4),
      status_interval_(k_status_intervals * offer.report_interval),
      keys_(repair_secret(offer.header),
            {.sequence = 0, .first_number = 0, .secret = repair_secret(offer.header)}),
      rate_(offer.max_rate / k_rate_part, k_burst * offer.packet_size),
      planner_({.reach = offer.reach, .max_ranges = k_max_ranges}),
      buffers_(std::make_unique_for_overwrite<std::uint8_t[]>(fec::k_max_rows_together *
                                                              offer.packet_size)) {}

fec::ReceiverKey SourceRepairs::add_receiver() {
  ++receivers_;
  return planner_.add_receiver();
}

void SourceRepairs::remove_receiver(fec::ReceiverKey key) {
  --receivers_;
  planner_.remove_receiver(key);
}

// --- reports ------------------------------------------------------------------------------------

// What a report left to repairs has to stay until they are planned: nothing copies it meanwhile.
void SourceRepairs::advance(const PacketRing& log, PacketNumber sent_end, Time now) {
  skip_older(planned_from_, log, sent_end, now - patience_ - gather_);
  planner_.advance(sent_end, planned_from_);
}

PacketNumber SourceRepairs::on_report(fec::ReceiverKey key, const ChannelReport& report,
                                      const PacketRing& log, PacketNumber sent_end, Time now) {
  if (exhausted_ || report.end == 0) return k_no_packet_number;
  skip_older(young_, log, sent_end, now - patience_);
  const PacketNumber young = young_;
  advance(log, sent_end, now);
  InplaceVector<Interval, k_max_ranges> open;
  std::uint64_t size = 0;
  std::uint64_t fresh = 0;
  const auto missing = report.missing.view();
  for (auto range = missing.rbegin(); range != missing.rend(); ++range) {
    if (range->end <= young || open.size() == k_max_ranges) continue;
    const Interval part{std::max(range->start, young), range->end};
    open.push_back(part);
    size += part.size();
    fresh += named_.insert(part.start, part.end);
  }
  if (!planner_.report(key, report.end - 1, open.view())) return k_no_packet_number;
  if (open.empty()) return young;
  // Others miss the same, and yet others are about to say so.
  const bool is_urgent = fresh < size || named_.size() > k_max_named;
  plan_at_ = std::min(plan_at_, is_urgent ? now : now + gather_);
  return young;
}

void SourceRepairs::copy_set(const fec::NamedSet& set) {
  planner_.hand_over(set, [this](fec::ReceiverKey key, PacketNumber number) {
    copies_.push_back({key, number});
  });
}

void SourceRepairs::plan(const PacketRing& log, PacketNumber sent_end, Time now) {
  plan_at_ = k_never;
  named_.clear();
  advance(log, sent_end, now);
  const std::size_t most = rate_.room(now) / packet_size_ + 1;
  planned_ = planner_.plan(most);
  next_set_ = next_row_ = 0;
  std::size_t rows = 0;
  std::size_t repaired = 0;
  for (const fec::PlannedRepairs& each : planned_) {
    rows += each.rows;
    if (each.receivers < k_min_receivers) {
      copy_set(each.set);
    } else {
      repaired += each.rows;
    }
  }
  more_ = rows >= most;
  // A single repair says as much as a status that precedes it.
  if (repaired > 1) status_at_ = now;
}

// --- packets ------------------------------------------------------------------------------------

Bytes SourceRepairs::poll(const PacketRing& log, PacketNumber sent_end, Time now) {
  if (exhausted_ || !rate_.allows(now)) return {};
  if (status_at_ == Time{}) status_at_ = now;
  if (!has_planned() && now >= plan_at_) plan(log, sent_end, now);
  const Bytes packet = next_packet(log, sent_end, now);
  rate_.spend(packet.size(), now);
  counts_.bytes += packet.size();
  return packet;
}

Bytes SourceRepairs::next_packet(const PacketRing& log, PacketNumber sent_end, Time now) {
  for (;;) {
    // Rows that are made together have numbers one after another.
    const bool is_between = next_row_ % fec::k_max_rows_together == 0;
    if (is_between && now >= status_at_) return next_status(now);
    if (!has_planned()) return {};
    const fec::PlannedRepairs& repairs = planned_[next_set_];
    const bool is_copied = repairs.receivers < k_min_receivers;
    if (!is_copied && next_row_ < repairs.rows) {
      const Bytes repair = next_repair(log);
      if (!repair.empty()) return repair;
      // The log has lost a packet of the set, or no key is left.
      copy_set(repairs.set);
    } else if (!is_copied) {
      // A receiver with the next packet has seen the repairs, or has lost them.
      planner_.sent(repairs, sent_end);
    }
    finish_set();
  }
}

void SourceRepairs::finish_set() {
  next_row_ = 0;
  ++next_set_;
  if (!has_planned() && more_) plan_at_ = std::min(plan_at_, rate_.next());
}

Bytes SourceRepairs::next_status(Time now) {
  status_at_ = now + status_interval_;
  RepairStatus status{.receivers = receivers_, .sets = {}};
  for (std::size_t i = next_set_; i < planned_.size(); ++i) {
    const fec::PlannedRepairs& repairs = planned_[i];
    if (repairs.receivers < k_min_receivers) continue;
    if (status.sets.size() == RepairStatus::k_max_sets) break;
    const std::size_t rows = std::min<std::size_t>(repairs.rows, 255);
    status.sets.push_back({repairs.set, static_cast<std::uint8_t>(rows)});
  }
  Writer out({buffer(0), packet_size_});
  write_channel_header(out, id_, false, keys_.next_number());
  write_status(out, status);
  ++counts_.statuses;
  return seal(buffer(0), out.size());
}

// Makes up to four rows at once, since each packet of the set is then read once for them.
bool SourceRepairs::encode(const PacketRing& log) {
  const fec::PlannedRepairs& repairs = planned_[next_set_];
  std::array<Bytes, fec::k_max_set_size> packets;
  for (std::size_t i = 0; i < repairs.set.size(); ++i) {
    const Bytes packet = log.find(repairs.set.numbers()[i]);
    if (packet.empty()) return false;
    packets[i] = packet.subspan(k_channel_header_length);
  }
  const std::span<const Bytes> payloads = std::span(packets).first(repairs.set.size());
  const std::size_t size = fec::repair_size(payloads);
  const std::size_t rows = std::min(fec::k_max_rows_together, repairs.rows - next_row_);
  std::array<MutableBytes, fec::k_max_rows_together> bytes;
  const auto first = static_cast<fec::RowIndex>(repairs.first_row + next_row_);
  for (std::size_t i = 0; i < rows; ++i) {
    Writer out({buffer(i), packet_size_});
    write_channel_header(out, id_, false, keys_.next_number() + i);
    write_repair_head(out, repairs.set, static_cast<fec::RowIndex>(first + i));
    bytes[i] = {buffer(i) + out.size(), size};
    row_length_ = out.size() + size;
  }
  return encode_repairs(fec::best_kernel(), repairs.set, payloads, first,
                        std::span<const MutableBytes>(bytes).first(rows));
}

Bytes SourceRepairs::next_repair(const PacketRing& log) {
  const std::size_t row = next_row_ % fec::k_max_rows_together;
  if (row == 0 && !encode(log)) return {};
  ++next_row_;
  ++counts_.repairs;
  return seal(buffer(row), row_length_);
}

Bytes SourceRepairs::seal(std::uint8_t* packet, std::size_t length) {
  const SealJob job{.packet = packet,
                    .payload_length = static_cast<std::uint32_t>(length - k_channel_header_length),
                    .header_length = k_channel_header_length,
                    .packet_number_length = k_channel_number_length,
                    .path = {},
                    .number = keys_.next_number()};
  exhausted_ = job.number >= k_max_number || !keys_.seal({&job, 1});
  if (exhausted_) return {};
  return {packet, length + k_aead_tag_length};
}

Time SourceRepairs::next_timeout() const {
  if (exhausted_) return k_never;
  const Time planned = has_planned() ? Time{} : plan_at_;
  return std::max(std::min(planned, status_at_), rate_.next());
}

}  // namespace sheaf::quic
