#include "channel/receiver.h"

#include <algorithm>

#include "channel/packet_format.h"
#include "wire/frame_codec.h"

namespace sheaf::quic {

ChannelReceiver::ChannelReceiver(const ChannelOffer& offer, Verifier& verifier, Random& random,
                                 Time now, PacketCiphers& ciphers)
    : offer_(offer),
      verifier_(verifier),
      keys_(offer.header, ciphers),
      ring_(offer.packet_size, offer.reach),
      states_(offer),
      reports_(offer, random, now),
      groups_(offer.deadline),
      opened_(std::make_unique_for_overwrite<std::uint8_t[]>(offer.packet_size)) {
  if (offer.repairs) repairs_.emplace(offer);
}

void ChannelReceiver::on_key(const ChannelKey& key, Time now) {
  if (key.channel != offer_.channel) return;
  // A receiver that got no packet for so long needs the latest keys alone.
  if (waiting_keys_.size() == k_max_waiting_keys) waiting_keys_.pop_front();
  waiting_keys_.push_back(key);
  add_waiting_keys(now);
}

// All places are taken until a packet under a later key comes, or a key expires.
void ChannelReceiver::add_waiting_keys(Time now) {
  for (; !waiting_keys_.empty(); waiting_keys_.pop_front()) {
    const ChannelKey& key = waiting_keys_.front();
    const auto added = keys_.add({key.sequence, key.first, key.secret}, now);
    if (added == ChannelOpenKeys::Added::kTooMany) return;
    if (added == ChannelOpenKeys::Added::kInvalid) states_.leave(LeaveReason::kMalformed);
  }
}

// --- packets ------------------------------------------------------------------------------------

void ChannelReceiver::receive(Bytes datagram, ChannelWay way, Time now) {
  const bool by_group = way == ChannelWay::kGroup;
  if (states_.left() || (by_group && doubts_.paused(now))) return;
  if (by_group && repairs_ && repairs_->is_repair(datagram)) {
    take_repair(datagram, now);
  } else {
    accept(datagram, way, now);
  }
  take_waiting(now);
  pause_if_hopeless(now);
}

Verdict ChannelReceiver::accept(Bytes datagram, ChannelWay way, Time now) {
  const bool by_group = way == ChannelWay::kGroup;
  const std::size_t trailer = verifier_.trailer_length();
  const bool fits = datagram.size() <= offer_.packet_size &&
                    datagram.size() > k_channel_overhead + trailer &&
                    may_be_of_channel(offer_.channel, datagram);
  const Bytes packet = fits ? datagram.first(datagram.size() - trailer) : Bytes{};
  const auto header = keys_.read_header(packet);
  if (!header) {
    ++counts_.unreadable;
    return Verdict::kRefused;
  }
  const PacketNumber number = header->number;
  if (number < ring_.oldest()) {
    ++counts_.late;
    return Verdict::kRefused;
  }
  if (ring_.contains(number)) {
    on_duplicate(number, packet, way, now);
    return Verdict::kDuplicate;
  }
  if (by_group) doubts_.on_packet(now);
  if (header->has_proof()) read_proofs(*header, packet, way, now);
  if (way == ChannelWay::kSource) return take(*header, packet, way, now);
  return authenticate(*header, datagram, way, now);
}

Verdict ChannelReceiver::authenticate(const ChannelHeader& header, Bytes datagram, ChannelWay way,
                                      Time now) {
  const Bytes packet = datagram.first(datagram.size() - verifier_.trailer_length());
  const bool by_group = way == ChannelWay::kGroup;
  const Verdict verdict =
      verifier_.on_packet({header.number, header.key_sequence, datagram, by_group}, now);
  switch (verdict) {
    case Verdict::kProven: {
      const Verdict taken = take(header, packet, way, now);
      if (taken == Verdict::kProven) count_taken(way);
      return taken;
    }
    case Verdict::kWaiting:
      if (states_.state() == ListenState::kReceiving) count_taken(way);
      break;
    case Verdict::kDuplicate:
      ++counts_.duplicates;
      break;
    case Verdict::kForged:
      on_forged(way, now);
      ++told_forged_;
      break;
    case Verdict::kRefused:
      ++counts_.refused;
      break;
  }
  return verdict;
}

void ChannelReceiver::count_taken(ChannelWay way) {
  if (way == ChannelWay::kGroup || way == ChannelWay::kRepair) ++taken_;
}

// Reads the integrity frames of a packet that nothing proves yet. They prove themselves, and the
// verifier bounds what members can make it do. All else in the packet waits for its own proof.
void ChannelReceiver::read_proofs(const ChannelHeader& header, Bytes packet, ChannelWay way,
                                  Time now) {
  const auto outcome =
      keys_.open(header, packet, ChannelOpenKeys::Origin::kUnproven, now, opened_.get());
  if (outcome != ChannelOpenKeys::Outcome::kOpened) return;
  const FrameOrigin origin =
      way == ChannelWay::kSource ? FrameOrigin::kConnection : FrameOrigin::kChannel;
  Reader in({opened_.get(), packet.size() - k_channel_overhead});
  while (const auto frame = decode_integrity_frame(in)) verifier_.on_frame(*frame, origin, now);
}

// --- repairs ------------------------------------------------------------------------------------

void ChannelReceiver::take_repair(Bytes datagram, Time now) {
  repairs_->receive(datagram, ring_, now);
  reports_.set_receivers(repairs_->receivers());
  while (const auto recovered = repairs_->poll_recovered(now)) {
    if (accept_recovered(*recovered, now) == Verdict::kForged) {
      repairs_->refuse(recovered->number, now);
    }
  }
}

Verdict ChannelReceiver::accept_recovered(const ReceiverRepairs::Recovered& recovered, Time now) {
  switch (keys_.restore_header(offer_.channel, recovered.number, recovered.packet, opened_.get())) {
    case ChannelOpenKeys::Outcome::kOpened:
      return accept(recovered.packet, ChannelWay::kRepair, now);
    case ChannelOpenKeys::Outcome::kWrongTag:
      return Verdict::kForged;
    case ChannelOpenKeys::Outcome::kNoKey:
    case ChannelOpenKeys::Outcome::kExhausted:
      break;
  }
  return Verdict::kRefused;
}

void ChannelReceiver::take_waiting(Time now) {
  while (const auto proven = verifier_.next_proven()) {
    const auto header = keys_.read_header(proven->sealed);
    // Keys may have changed in the meantime, and numbers are read around the largest one.
    if (!header || header->number != proven->number ||
        header->key_sequence != proven->key_sequence || header->number < ring_.oldest()) {
      continue;
    }
    const ChannelWay way = proven->by_group ? ChannelWay::kGroup : ChannelWay::kUnicast;
    if (ring_.contains(header->number)) {
      on_duplicate(header->number, proven->sealed, way, now);
    } else {
      take(*header, proven->sealed, way, now);
    }
  }
  // Those that waited until the proof of their number came
  const std::uint64_t forged = verifier_.counts().forged_packets;
  for (; told_forged_ < forged; ++told_forged_) on_forged(ChannelWay::kGroup, now);
}

// The same bytes as those of a packet that was authenticated are authentic, too. So a receiver
// whose copies come sooner than packets of the group still sees that the group is back. What the
// group brought up to that number shows nothing: somebody may send it again when the group is gone.
void ChannelReceiver::on_duplicate(PacketNumber number, Bytes packet, ChannelWay way, Time now) {
  ++counts_.duplicates;
  if (way == ChannelWay::kGroup && number >= group_end_ &&
      std::ranges::equal(packet, ring_.find(number))) {
    on_from_group(number, now);
  }
}

void ChannelReceiver::on_from_group(PacketNumber number, Time now) {
  group_end_ = std::max(group_end_, number + 1);
  doubts_.on_genuine(now);
  // What waited for its proof when a pause began does not end it.
  if (!doubts_.paused(now)) states_.on_group_packet(number, now);
}

void ChannelReceiver::on_forged(ChannelWay way, Time now) {
  ++counts_.forged;
  if (way == ChannelWay::kGroup) doubts_.on_forged(now);
}

void ChannelReceiver::pause_if_hopeless(Time now) {
  if (!doubts_.begin_pause(now)) return;
  ++counts_.pauses;
  states_.on_group_lost(missing_.end());
}

Verdict ChannelReceiver::take(const ChannelHeader& header, Bytes packet, ChannelWay way, Time now) {
  const auto outcome =
      keys_.open(header, packet, ChannelOpenKeys::Origin::kProven, now, opened_.get());
  if (outcome != ChannelOpenKeys::Outcome::kOpened) {
    on_forged(way, now);
    if (outcome == ChannelOpenKeys::Outcome::kExhausted) states_.leave(LeaveReason::kForgedPackets);
    return Verdict::kForged;
  }
  add_waiting_keys(now);
  std::ranges::copy(packet, ring_.room(header.number).begin());
  ring_.keep(header.number, packet.size(), now);
  const bool recovered =
      repairs_ && repairs_->on_packet(header.number, packet, way == ChannelWay::kRepair, now);
  note_number(header.number, recovered, now);
  if (recovered) {
    ++counts_.recovered;
  } else if (way == ChannelWay::kGroup) {
    ++counts_.from_group;
    note_arrival(now);
    on_from_group(header.number, now);
  } else {
    ++counts_.from_unicast;
  }
  Reader frames({opened_.get(), packet.size() - k_channel_overhead});
  // They were read before the packet was proven.
  if (header.has_proof()) skip_integrity_frames(frames);
  read_frames(frames, verifier_.proves_source() || way == ChannelWay::kSource, now);
  return Verdict::kProven;
}

void ChannelReceiver::note_number(PacketNumber number, bool recovered, Time now) {
  // What repairs brought before a gap showed it was lost, too.
  if (recovered && number >= missing_.end()) ++counts_.lost;
  const auto has = [this](PacketNumber other) { return ring_.contains(other); };
  const std::uint64_t lost = missing_.on_packet(number, now, has);
  counts_.lost += lost;
  if (lost > 0) reports_.on_loss(now);
  if (missing_.empty()) reports_.on_nothing_missing();
  if (repairs_) repairs_->forget_below(missing_.lowest());
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

void ChannelReceiver::read_frames(Reader in, bool is_proven, Time now) {
  while (!in.empty()) {
    if (read_frame(in, now)) continue;
    ++counts_.malformed;
    // Where members can forge packets, one of them may have made this one.
    if (is_proven) states_.leave(LeaveReason::kMalformed);
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
  if (outcome == GroupStreams::Outcome::kLimit) ++counts_.over_limits;
  return outcome != GroupStreams::Outcome::kViolation;
}

// --- time ---------------------------------------------------------------------------------------

Time ChannelReceiver::next_timeout() const {
  if (states_.left()) return k_never;
  const auto after = [](Time since, Duration wait) {
    return since == k_never ? k_never : since + wait;
  };
  return std::min({after(missing_.oldest(), offer_.deadline), doubts_.next_timeout(),
                   states_.next_timeout(), reports_.due(), groups_.next_timeout(),
                   verifier_.next_timeout(), keys_.next_expiry()});
}

void ChannelReceiver::on_timeout(Time now) {
  if (states_.left()) return;
  verifier_.on_timeout(now);
  take_waiting(now);
  keys_.expire(now);
  add_waiting_keys(now);
  expire(now);
  groups_.on_timeout(now);
  if (states_.state() == ListenState::kReceiving) states_.on_timeout(missing_.end(), now);
  pause_if_hopeless(now);
  doubts_.on_timeout(now);
}

void ChannelReceiver::expire(Time now) {
  const std::uint64_t expired = missing_.expire(now - offer_.deadline);
  counts_.expired += expired;
  if (expired > 0) groups_.on_packets_expired(now);
  if (repairs_) repairs_->forget_below(missing_.lowest());
}

// Reports of a loss are left out once nothing is missing, or while repairs may bring it.
bool ChannelReceiver::needs_report(Time now) {
  if (now < reports_.due()) return false;
  if (reports_.is_quiet_due(now)) return true;
  if (missing_.empty()) {
    reports_.on_nothing_missing();
    return false;
  }
  const auto covered = repairs_ ? repairs_->covered_until(missing_, now) : std::nullopt;
  if (covered) reports_.wait_until(*covered);
  return !covered;
}

std::optional<ChannelReport> ChannelReceiver::poll_report(Time now) {
  if (states_.left() || !needs_report(now)) return std::nullopt;
  ChannelReport report;
  report.channel = offer_.channel;
  report.sequence = report_sequence_++;
  report.received = counts_.from_group;
  report.lost = counts_.lost;
  report.recovered = counts_.recovered;
  report.expired = counts_.expired;
  report.jitter = jitter_;
  missing_.list(report, [&](PacketNumber number, Time since) {
    return ring_.contains(number) || (repairs_ && repairs_->is_hidden(number, since, now));
  });
  reports_.on_reported(!missing_.empty(), now);
  return report;
}

}  // namespace sheaf::quic
