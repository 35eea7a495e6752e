#include "channel/receiver.h"

#include <algorithm>

#include "channel/packet_format.h"
#include "wire/frame_codec.h"

namespace sheaf::quic {
namespace {

// A member can forge packets of a channel without proofs, and an outsider can send bytes to the
// group. A receiver leaves when more than this came, and more than one in k_forged_share packets.
constexpr std::uint64_t k_max_forged = 1000;
constexpr std::uint64_t k_forged_share = 8;

}  // namespace

ChannelReceiver::ChannelReceiver(const Config& config, Verifier& verifier, Random& random, Time now)
    : config_(config),
      verifier_(verifier),
      keys_(config.offer.header),
      ring_(config.offer.packet_size, config.offer.reach),
      states_(config.offer),
      reports_(config.offer, random, now),
      groups_(config.offer.deadline),
      by_group_(config.offer.reach),
      opened_(std::make_unique_for_overwrite<std::uint8_t[]>(config.offer.packet_size)) {}

void ChannelReceiver::on_key(const ChannelKey& key) {
  const auto added = keys_.add({key.sequence, key.first, key.secret});
  if (added == ChannelOpenKeys::Added::kInvalid) states_.leave(LeaveReason::kMalformed);
}

// --- packets ------------------------------------------------------------------------------------

void ChannelReceiver::receive(Bytes datagram, ChannelWay way, Time now) {
  if (states_.left()) return;
  const std::size_t trailer = verifier_.trailer_length();
  const bool fits = datagram.size() <= config_.offer.packet_size &&
                    datagram.size() > k_channel_overhead + trailer &&
                    may_be_of_channel(config_.offer.channel, datagram);
  const auto header =
      fits ? keys_.read_header(datagram.first(datagram.size() - trailer)) : std::nullopt;
  if (way == ChannelWay::kGroup && unproven_since_ == k_never) unproven_since_ = now;
  if (!header) {
    ++counts_.unreadable;
    return;
  }
  const PacketNumber number = header->number;
  if (number < ring_.oldest()) {
    ++counts_.late;
    return;
  }
  if (ring_.contains(number)) return on_duplicate(number, datagram, way, now);
  switch (verifier_.on_packet({number, header->key_sequence, datagram}, now)) {
    case Verdict::kProven:
      take(*header, datagram, way, now);
      break;
    case Verdict::kWaiting:
      by_group_[number % config_.offer.reach] = way == ChannelWay::kGroup;
      break;
    case Verdict::kDuplicate:
      ++counts_.duplicates;
      break;
    case Verdict::kForged:
    case Verdict::kRefused:
      on_forged();
      break;
  }
  take_waiting(now);
}

void ChannelReceiver::take_waiting(Time now) {
  while (const auto proven = verifier_.next_proven()) {
    const auto header = keys_.read_header(proven->sealed);
    if (!header || header->number < ring_.oldest() || ring_.contains(header->number)) continue;
    const bool by_group = by_group_[header->number % config_.offer.reach];
    take(*header, proven->sealed, by_group ? ChannelWay::kGroup : ChannelWay::kUnicast, now);
  }
}

// The same bytes as those of a packet that was authenticated are authentic, too. So a receiver
// whose copies come sooner than packets of the group still sees that the group is back.
void ChannelReceiver::on_duplicate(PacketNumber number, Bytes packet, ChannelWay way, Time now) {
  ++counts_.duplicates;
  if (way == ChannelWay::kGroup && std::ranges::equal(packet, ring_.find(number))) {
    on_from_group(number, now);
  }
}

void ChannelReceiver::on_from_group(PacketNumber number, Time now) {
  unproven_since_ = k_never;
  states_.on_group_packet(number, now);
}

void ChannelReceiver::on_forged() {
  ++counts_.forged;
  const std::uint64_t genuine = counts_.from_group + counts_.from_unicast;
  if (counts_.forged > k_max_forged && counts_.forged > genuine / k_forged_share) {
    states_.leave(LeaveReason::kForgedPackets);
  }
}

void ChannelReceiver::take(const ChannelHeader& header, Bytes sealed, ChannelWay way, Time now) {
  const Bytes packet = sealed.first(sealed.size() - verifier_.trailer_length());
  const auto outcome =
      keys_.open(header, packet, ChannelOpenKeys::Origin::kProven, now, opened_.get());
  if (outcome != ChannelOpenKeys::Outcome::kOpened) {
    on_forged();
    if (outcome == ChannelOpenKeys::Outcome::kExhausted) states_.leave(LeaveReason::kForgedPackets);
    return;
  }
  std::ranges::copy(sealed, ring_.room(header.number).begin());
  ring_.keep(header.number, sealed.size(), now);
  const std::uint64_t lost = missing_.on_packet(header.number, now);
  counts_.lost += lost;
  if (lost > 0) reports_.on_loss(now);
  if (way == ChannelWay::kGroup) {
    ++counts_.from_group;
    note_arrival(now);
    on_from_group(header.number, now);
  } else {
    ++counts_.from_unicast;
  }
  read_frames({opened_.get(), packet.size() - k_channel_overhead}, now);
}

void ChannelReceiver::note_arrival(Time now) {
  if (last_arrival_ != Time{}) {
    const Duration interval = now - last_arrival_;
    const Duration change =
        interval > last_interval_ ? interval - last_interval_ : last_interval_ - interval;
    jitter_ += (std::min<Duration>(change, 1s) - jitter_) / 16;
    last_interval_ = interval;
  }
  last_arrival_ = now;
}

// --- frames -------------------------------------------------------------------------------------

void ChannelReceiver::read_frames(Bytes frames, Time now) {
  Reader in(frames);
  while (!in.empty()) {
    if (read_frame(in, now)) continue;
    ++counts_.malformed;
    // Where members can forge packets, one of them may have made this one.
    if (config_.proven) states_.leave(LeaveReason::kMalformed);
    return;
  }
}

bool ChannelReceiver::read_frame(Reader& in, Time now) {
  StreamFrame stream;
  if (read_stream_frame(in, stream)) return take_outcome(groups_.on_stream(stream, now));
  const auto frame = decode_frame(in, PacketType::kOneRtt);
  if (!frame) return false;
  if (const auto* reset = std::get_if<ResetStreamFrame>(&*frame)) {
    return take_outcome(groups_.on_reset(*reset, now));
  }
  return std::holds_alternative<PaddingFrame>(*frame) || std::holds_alternative<PingFrame>(*frame);
}

bool ChannelReceiver::take_outcome(GroupStreams::Outcome outcome) {
  if (outcome == GroupStreams::Outcome::kLimit) {
    ++counts_.over_limits;
    if (config_.proven) states_.leave(LeaveReason::kGroupLimits);
  }
  return outcome != GroupStreams::Outcome::kViolation;
}

// --- time ---------------------------------------------------------------------------------------

Time ChannelReceiver::next_timeout() const {
  if (states_.left()) return k_never;
  const auto after = [](Time since, Duration wait) {
    return since == k_never ? k_never : since + wait;
  };
  return std::min({after(missing_.oldest(), config_.offer.deadline),
                   after(unproven_since_, k_max_unproven), states_.next_timeout(), reports_.due(),
                   groups_.next_timeout(), verifier_.next_timeout(), keys_.next_expiry()});
}

void ChannelReceiver::on_timeout(Time now) {
  if (states_.left()) return;
  verifier_.on_timeout(now);
  take_waiting(now);
  keys_.expire(now);
  expire(now);
  groups_.on_timeout(now);
  if (states_.state() == ListenState::kReceiving) states_.on_timeout(missing_.end(), now);
  if (unproven_since_ != k_never && now >= unproven_since_ + k_max_unproven) {
    states_.leave(LeaveReason::kNothingAuthentic);
  }
}

void ChannelReceiver::expire(Time now) {
  const std::uint64_t expired =
      missing_.expire(now - config_.offer.deadline) + missing_.take_overflow();
  counts_.expired += expired;
  if (expired > 0) groups_.on_packets_expired(now);
}

std::optional<ChannelReport> ChannelReceiver::poll_report(Time now) {
  if (states_.left() || now < reports_.due()) return std::nullopt;
  ChannelReport report;
  report.channel = config_.offer.channel;
  report.sequence = report_sequence_++;
  report.received = counts_.from_group;
  report.lost = counts_.lost;
  report.expired = counts_.expired;
  report.jitter = jitter_;
  missing_.list(report);
  reports_.on_reported(!missing_.empty(), now);
  return report;
}

}  // namespace sheaf::quic
