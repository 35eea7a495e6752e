#include "channel/receiver_repairs.h"

#include <algorithm>

namespace sheaf::quic {
namespace {

// What repairs are subtracted from: the packets that were authenticated
class LogPackets final : public fec::KnownPackets {
 public:
  explicit LogPackets(const PacketRing& log) : log_(log) {}
  std::optional<Bytes> find(std::uint64_t number) const override {
    const Bytes packet = log_.find(number);
    if (packet.empty()) return std::nullopt;
    return packet.subspan(k_channel_header_length);
  }

 private:
  const PacketRing& log_;
};

}  // namespace

ReceiverRepairs::ReceiverRepairs(const ChannelOffer& offer)
    : id_(repair_id(offer.channel)),
      packet_size_(offer.packet_size),
      reach_(offer.reach),
      patience_(offer.deadline / 2),
      hold_(offer.report_interval / 4),
      keys_(repair_secret(offer.header)),
      solver_(make_solver()),
      opened_(std::make_unique_for_overwrite<std::uint8_t[]>(offer.packet_size)),
      packet_(std::make_unique_for_overwrite<std::uint8_t[]>(offer.packet_size)) {
  static_cast<void>(
      keys_.add({.sequence = 0, .first_number = 0, .secret = repair_secret(offer.header)}, Time{}));
  announced_.reserve(RepairStatus::k_max_sets);
  claims_.reserve(fec::k_max_equations);
  uncovered_.reserve(k_max_covered);
  seen_.fill(k_no_packet_number);
}

fec::Solver ReceiverRepairs::make_solver() const {
  return {fec::best_kernel(), packet_size_ - k_repair_overhead - k_channel_header_length, reach_};
}

// --- repairs and status -------------------------------------------------------------------------

// The same packet again would be work for nothing.
bool ReceiverRepairs::is_new(PacketNumber number) {
  return std::exchange(seen_[number % k_seen], number) != number;
}

void ReceiverRepairs::receive(Bytes datagram, const PacketRing& log, Time now) {
  if (now < distrusted_until_) {
    ++counts_.ignored;
    return;
  }
  const auto header = datagram.size() <= packet_size_ ? keys_.read_header(datagram) : std::nullopt;
  // Nothing proves the number, so later ones are read around the first.
  if (!header || keys_.open(*header, datagram, ChannelOpenKeys::Origin::kUnproven, now,
                            opened_.get()) != ChannelOpenKeys::Outcome::kOpened) {
    ++counts_.unreadable;
    return;
  }
  if (!is_new(header->number)) return;
  ++counts_.packets;
  const auto message = read_repair_message({opened_.get(), datagram.size() - k_channel_overhead});
  if (!message) {
    ++counts_.malformed;
  } else if (const auto* repair = std::get_if<ChannelRepair>(&*message)) {
    on_repair(*repair, header->number, log, now);
  } else {
    on_status(std::get<RepairStatus>(*message), now);
  }
}

void ReceiverRepairs::on_repair(const ChannelRepair& repair, PacketNumber number,
                                const PacketRing& log, Time now) {
  for (Announced& each : announced_) {
    if (each.rows == 0 || !(each.set == repair.set)) continue;
    --each.rows;
    break;
  }
  const auto outcome =
      solver_.add({.number = number, .set = repair.set, .row = repair.row, .bytes = repair.bytes},
                  LogPackets(log));
  if (outcome == fec::RepairOutcome::kContradiction) distrust(now);
}

void ReceiverRepairs::on_status(const RepairStatus& status, Time now) {
  receivers_ = std::max<std::uint64_t>(status.receivers, 1);
  std::erase_if(announced_,
                [now](const Announced& each) { return each.rows == 0 || each.until <= now; });
  for (const auto& [set, rows] : status.sets.view()) {
    if (announced_.size() == RepairStatus::k_max_sets) announced_.erase(announced_.begin());
    announced_.push_back({set, rows, now + hold_});
  }
}

void ReceiverRepairs::distrust(Time now) {
  if (++refusals_ < k_max_refusals) return;
  refusals_ = 0;
  distrusted_until_ = now + k_distrust;
  announced_.clear();
  claims_.clear();
  solver_ = make_solver();
  solver_.forget_below(floor_);
}

// --- packets that follow from repairs -----------------------------------------------------------

std::optional<ReceiverRepairs::Recovered> ReceiverRepairs::poll_recovered(Time now) {
  while (const auto solution = solver_.poll_recovered()) {
    const PacketNumber number = solution->number;
    if (solution->payload.size() < k_aead_tag_length) {
      refuse(number, now);
      continue;
    }
    std::ranges::copy(solution->payload, packet_.get() + k_channel_header_length);
    if (claims_.size() == fec::k_max_equations) claims_.erase(claims_.begin());
    claims_.push_back(number);
    return Recovered{number, {packet_.get(), k_channel_header_length + solution->payload.size()}};
  }
  return std::nullopt;
}

void ReceiverRepairs::refuse(PacketNumber number, Time now) {
  std::erase(claims_, number);
  ++counts_.refused;
  solver_.refuse(number);
  distrust(now);
}

bool ReceiverRepairs::on_packet(PacketNumber number, Bytes packet, bool recovered, Time now) {
  const bool claimed = std::erase(claims_, number) > 0;
  if (recovered) {
    solver_.confirm(number);
    return true;
  }
  const auto wrong = solver_.provide(number, packet.subspan(k_channel_header_length));
  if (!wrong.empty()) distrust(now);
  return claimed && wrong.empty();
}

void ReceiverRepairs::forget_below(PacketNumber floor) {
  if (floor <= floor_) return;
  floor_ = floor;
  solver_.forget_below(floor);
  std::erase_if(claims_, [floor](PacketNumber number) { return number < floor; });
}

// --- reports ------------------------------------------------------------------------------------

std::optional<Time> ReceiverRepairs::covered_until(const MissingPackets& missing, Time now) {
  Time until = missing.oldest() + patience_;
  if (until <= now || missing.count() > k_max_covered) return std::nullopt;
  IntervalSet& open = uncovered_;
  open.clear();
  for (const auto& [range, since] : missing.gaps()) {
    for (PacketNumber number = range.start; number < range.end; ++number) {
      if (!solver_.awaits_another(number)) open.insert(number);
    }
  }
  for (const Announced& each : announced_) {
    if (each.until <= now) continue;
    std::size_t left = each.rows;
    for (const PacketNumber number : each.set.numbers()) {
      if (left == 0 || open.erase(number, number + 1) == 0) continue;
      --left;
      until = std::min(until, each.until);
    }
  }
  if (!open.empty()) return std::nullopt;
  return until;
}

}  // namespace sheaf::quic
