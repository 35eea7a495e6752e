#include "recovery/loss_detection.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "wire/violation.h"

namespace sheaf::quic {

namespace {

using State = SentPacket::State;

// kPersistentCongestionThreshold of RFC 9002 §7.6.1.
constexpr int k_persistent_congestion_threshold = 3;
// Probe timeouts after its sending for which a lost packet is kept, so that a late acknowledgement
// finds it.
constexpr int k_keep_lost = 2;
// Number of consecutive probe timeouts after which large datagrams are suspected not to get through
// (RFC 8899 §4.3 and its MAX_PROBES).
constexpr std::uint32_t k_black_hole_probes = 3;
// 2^16 times the probe timeout is longer than any idle timeout.
constexpr std::uint32_t k_max_backoff = 16;
// Packet numbers kept beyond those in flight, about 4 MB. Without this bound the log would grow
// forever for a peer that makes us acknowledge but never acknowledges anything: acknowledgements
// are not congestion controlled.
constexpr std::uint64_t k_max_kept = 1 << 16;
// Packets of known fate above the first outstanding one that the frames of one batch may make us
// look at. A gap in what was acknowledged stays until the batch ends, and each frame passes all
// packets above it. Below, lost packets alone are looked at, each once.
constexpr std::uint64_t k_max_revisited = 1024;

// Ranges of an ACK frame that are read, from the largest number down. No client is known to keep
// more than 255, and the work for a frame is bounded.
constexpr std::size_t k_max_ranges = 256;

FrameType type_of(const AckFrame& frame) {
  return frame.ecn ? FrameType::kAckEcn : FrameType::kAck;
}

}  // namespace

LossDetection::LossDetection(PathId path, RttEstimator& rtt, CongestionController& controller)
    : path_(path), rtt_(&rtt), controller_(&controller) {}

void LossDetection::set_controller(CongestionController& controller) {
  controller_ = &controller;
  first_current_ = sent_.next_number();
  bytes_in_flight_ = 0;
  batch_ = {.largest = batch_.largest, .max_ack_delay = batch_.max_ack_delay};
  delivery_rate_ = {};
  persistent_congestion_ = {};
  spurious_loss_ = {};
  if (senders_) senders_->forget_rtt();
}

void LossDetection::on_packet_sent(PacketNumber number, Time now) {
  SentPacket& packet = sent_.at(number);
  packets_since_eliciting_ = packet.ack_eliciting ? 0 : packets_since_eliciting_ + 1;
  if (packet.in_flight) {
    delivery_rate_.on_sent(packet, bytes_in_flight_);
    // A packet may enter flight late (recovery/reserved_packets.h).
    if (is_current(number)) bytes_in_flight_ += packet.bytes;
    ++packets_in_flight_;
    if (packet.ack_eliciting) {
      ++ack_eliciting_in_flight_;
      probe_wait_from_ = packet.time_sent;
    }
    if (senders_) senders_->on_sent(packet);
    controller_->on_packet_sent(now, number, packet.bytes, bytes_in_flight_);
  } else if (number - sent_.oldest() > SentPackets::k_max_kept_unacknowledged) {
    prune(Time::min());
  }
}

// --- packets of other nodes ---------------------------------------------------------------------

void LossDetection::open_sender(std::uint8_t sender, Duration initial_rtt) {
  if (!senders_) senders_ = std::make_unique<Senders>(*rtt_, sent_, largest_acknowledged_);
  senders_->open(sender, initial_rtt);
}

PacketNumber LossDetection::number_run(const SentPacket& packet, std::size_t count,
                                       const RunData& data, Time now) {
  assert(senders_ && packet.sender > 0 && packet.sender < Senders::k_max);
  assert(packet.in_flight && count >= 1 && count <= k_max_run);
  const PacketNumber first = sent_.commit_run(packet, count, data);
  for (PacketNumber number = first; number < first + count; ++number) on_packet_sent(number, now);
  return first;
}

std::size_t LossDetection::refuse_run(std::uint8_t sender, PacketNumber first, std::size_t count,
                                      Time now, SentFrameListener& listener) {
  assert(sender != 0);
  std::size_t refused = 0;
  const PacketNumber end = std::min<PacketNumber>(first + count, sent_.next_number());
  for (PacketNumber number = std::max(first, sent_.oldest()); number < end; ++number) {
    const SentPacket packet = sent_.at(number);
    const bool outstanding = packet.state == State::kOutstanding;
    if (packet.sender != sender || packet.abandoned) continue;
    if (!outstanding && packet.state != State::kLost) continue;
    sent_.refuse(number);
    ++refused;
    if (ecn_ != nullptr) ecn_->on_refused(packet.ecn);
    if (outstanding) {
      if (packet.in_flight) leave_flight(number, packet);
      report_frames_lost(number, packet, listener);
    } else {
      // Its frames were lost before.
      take_back_loss(number, packet, now);
    }
  }
  if (refused > 0) senders_->on_refused(sender, sent_);
  // Refusing alone is no persistent congestion; the next loss shows it.
  pass_settled(Duration::max());
  return refused;
}

void LossDetection::abandon_sender(std::uint8_t sender, SentFrameListener& listener) {
  for (PacketNumber number = sent_.oldest(); number < sent_.next_number(); ++number) {
    SentPacket& packet = sent_.at(number);
    if (packet.sender != sender) continue;
    packet.abandoned = true;
    if (packet.state != State::kOutstanding) continue;
    declare_lost(number, listener);
    newly_lost_.push_back(number);
  }
  spurious_loss_.on_lost(newly_lost_);
  newly_lost_.clear();
  pass_settled(Duration::max());
}

// --- acknowledgements ---------------------------------------------------------------------------

Result<LossDetection::AckNews, TransportError> LossDetection::settle(const AckFrame& frame,
                                                                     const AckContext& context,
                                                                     Time now,
                                                                     SentFrameListener& listener) {
  if (frame.largest >= sent_.next_number()) {
    return violation(type_of(frame), "acknowledges a packet that was not sent");
  }
  if (!batch_.open()) batch_.in_flight_before = bytes_in_flight_;
  const bool raises_largest =
      largest_acknowledged_ == k_no_packet_number || frame.largest > largest_acknowledged_;
  Settled settled;
  if (TransportStatus status = settle_ranges(frame, now, listener, settled); !status) {
    return status.error();
  }
  if (raises_largest) largest_acknowledged_ = frame.largest;
  batch_.add(settled);
  if (settled.any()) {
    probe_count_ = 0;
    next_probe_ = 0;
    batch_.max_ack_delay = context.max_ack_delay;
    overtaken_ack_delay_ = context.overtaken_ack_delay;
    batch_.application_limited = context.application_limited;
    take_rtt_sample(frame, settled, context, now);
    if (raises_largest) process_ecn(frame, settled, now);
    // The next frame of the batch need not look at these packets again.
    batch_.persistent_congestion |= advance_first_outstanding(context.max_ack_delay);
  }
  if (batch_.revisited > k_max_revisited) conclude(now, listener);
  return settled.any() ? AckNews::kPackets : AckNews::kNone;
}

void LossDetection::Batch::add(const Settled& settled) {
  bytes += settled.bytes;
  revisited += settled.revisited;
  largest_size = std::max(largest_size, settled.largest_size);
  if (settled.any() && (!open() || settled.largest > largest)) {
    largest = settled.largest;
    largest_time_sent = settled.largest_time_sent;
  }
}

// RFC 9002 §5.1: a sample requires that the largest acknowledged packet is newly acknowledged, and
// that at least one newly acknowledged packet was ack-eliciting.
void LossDetection::take_rtt_sample(const AckFrame& frame, const Settled& settled,
                                    const AckContext& context, Time now) {
  const bool gives_rtt = settled.largest == frame.largest && settled.ack_eliciting &&
                         settled.timed && is_current(settled.largest);
  if (gives_rtt) {
    rtt_->add_sample(now - settled.largest_time_sent, context.ack_delay, context.max_ack_delay,
                     context.handshake_confirmed);
    persistent_congestion_.on_rtt_sample(now);
    batch_.smallest_rtt = std::min(batch_.smallest_rtt, rtt_->latest());
    ++batch_.rtt_samples;
  }
  if (!senders_) return;
  senders_->on_ack_end({.largest = frame.largest,
                        .gave_rtt = gives_rtt,
                        .first_current = first_current_,
                        .ack_delay = context.ack_delay,
                        .max_ack_delay = context.max_ack_delay,
                        .overtaken_ack_delay = context.overtaken_ack_delay,
                        .handshake_confirmed = context.handshake_confirmed},
                       sent_, now);
}

void LossDetection::conclude(Time now, SentFrameListener& listener) {
  const Batch batch = std::exchange(batch_, {});
  if (!batch.open()) return;
  if (mtu_ != nullptr) mtu_->on_acknowledged(batch.largest_size);
  detect_lost(batch.max_ack_delay, batch.persistent_congestion, now, listener);
  report_acknowledged(batch, now);
  prune(over_limit() ? Time::max() : now - k_keep_lost * probe_timeout(batch.max_ack_delay));
}

TransportStatus LossDetection::settle_ranges(const AckFrame& frame, Time now,
                                             SentFrameListener& listener, Settled& settled) {
  const PacketNumber first_outstanding = first_outstanding_;
  AckRangeReader ranges(frame);
  std::size_t count = 0;
  for (PacketNumber first, last; count < k_max_ranges && ranges.next(first, last); ++count) {
    // RFC 9000 §21.4: only a peer that acknowledges packets it did not receive can name a skipped
    // number.
    if (sent_.skipped_in(first, last)) {
      return violation(type_of(frame), "acknowledges a packet number that was skipped");
    }
    if (sent_.refused_in(first, last)) {
      return violation(type_of(frame), "acknowledges a packet that was refused");
    }
    for (PacketNumber number = std::max(first, first_outstanding); number <= last; ++number) {
      settle_packet(number, now, listener, settled);
    }
    // Below first_outstanding everything is settled: only packets counted as lost can be news.
    if (first < first_outstanding && !spurious_loss_.empty()) {
      spurious_loss_.take(first, std::min(last, first_outstanding - 1), [&](PacketNumber number) {
        settle_packet(number, now, listener, settled);
      });
    }
  }
  return {};
}

void LossDetection::settle_packet(PacketNumber number, Time now, SentFrameListener& listener,
                                  Settled& settled) {
  SentPacket& packet = sent_.at(number);
  if (packet.state == State::kOutstanding) {
    if (packet.in_flight) {
      leave_flight(number, packet);
      if (is_current(number)) {
        settled.bytes += packet.bytes;
        settled.largest_size = std::max(settled.largest_size, packet.bytes);
        delivery_rate_.on_acknowledged(packet, now);
      }
    }
  } else if (packet.state == State::kLost) {
    ++spurious_losses_;
    persistent_congestion_.break_run();
    if (is_current(number)) settled.largest_size = std::max(settled.largest_size, packet.bytes);
    take_back_loss(number, packet, now);
  } else {
    ++settled.revisited;
    return;
  }
  packet.state = State::kAcknowledged;
  if (senders_ && !packet.abandoned) senders_->on_acknowledged(number, packet);
  settled.ack_eliciting |= packet.ack_eliciting;
  settled.marked_ect0 += packet.ecn == Ecn::kEct0 ? 1 : 0;
  if (!settled.any() || number > settled.largest) {
    settled.largest = number;
    settled.largest_time_sent = packet.time_sent;
    settled.timed = !packet.untimed;
  }
  for_each_frame(number, packet, [&](const SentFrame& frame) {
    if (!is_settled(packet, frame)) listener.on_frame_acknowledged(path_, frame);
  });
}

void LossDetection::process_ecn(const AckFrame& frame, const Settled& settled, Time now) {
  if (ecn_ == nullptr) return;
  if (ecn_->on_ack(frame.ecn, settled.marked_ect0) == 0) return;
  // RFC 9002 §7.1: treated like a loss of the largest acknowledged packet.
  controller_->on_congestion({.now = now,
                              .lost_bytes = 0,
                              .bytes_in_flight = bytes_in_flight_,
                              .largest_lost = settled.largest,
                              .largest_lost_time_sent = settled.largest_time_sent,
                              .persistent = false,
                              .ecn = true});
}

void LossDetection::report_acknowledged(const Batch& batch, Time now) {
  if (batch.application_limited) delivery_rate_.on_application_limited(bytes_in_flight_);
  if (batch.bytes == 0) return;
  const DeliveryRate::Sample rate = delivery_rate_.take_sample(now, rtt_->minimum());
  controller_->on_acknowledgement(
      {.now = now,
       .acknowledged_bytes = batch.bytes,
       .bytes_in_flight_before = batch.in_flight_before,
       .bytes_in_flight = bytes_in_flight_,
       .largest_acknowledged = batch.largest,
       .largest_time_sent = batch.largest_time_sent,
       .smallest_rtt = batch.rtt_samples > 0 ? batch.smallest_rtt : Duration::zero(),
       .rtt_samples = batch.rtt_samples,
       .min_rtt = rtt_->minimum(),
       .smoothed_rtt = rtt_->smoothed(),
       .delivery_rate = rate.bytes_per_second,
       .delivery_rate_application_limited = rate.application_limited,
       .delivered = delivery_rate_.delivered(),
       .delivered_at_send = rate.delivered_at_send,
       .in_flight_at_send = rate.in_flight_at_send,
       .lost_since_send = rate.lost_since_send,
       .application_limited = batch.application_limited});
}

// --- losses -------------------------------------------------------------------------------------

void LossDetection::detect_lost(Duration max_ack_delay, bool persistent, Time now,
                                SentFrameListener& listener) {
  loss_time_ = k_never;
  if (largest_acknowledged_ == k_no_packet_number) return;
  // Nothing that was sent before is outstanding.
  if (first_outstanding_ > largest_acknowledged_) return;
  find_lost(now);
  LossSample sample{.now = now, .largest_lost_time_sent = Time::min()};
  std::uint16_t largest_size = 0;
  Time largest_size_sent = Time::min();
  for (const PacketNumber number : newly_lost_) {
    const SentPacket& packet = sent_.at(number);
    declare_lost(number, listener);
    // RFC 9000 §14.4: the loss of an MTU probe says nothing about congestion.
    if (!packet.in_flight || packet.mtu_probe || !is_current(number)) continue;
    spurious_loss_.on_congestion(packet.time_sent, now);
    report_lost(number, now);
    sample.lost_bytes += packet.bytes;
    if (packet.bytes >= largest_size) {
      largest_size = packet.bytes;
      largest_size_sent = packet.time_sent;
    }
    sample.largest_lost = number;
    sample.largest_lost_time_sent = packet.time_sent;
  }
  if (!newly_lost_.empty()) spurious_loss_.on_lost(newly_lost_);
  newly_lost_.clear();
  sample.persistent = advance_first_outstanding(max_ack_delay) || persistent;
  sample.bytes_in_flight = bytes_in_flight_;
  if (sample.lost_bytes == 0) return;
  respond_to_loss(sample);
  if (mtu_ == nullptr) return;
  const std::uint16_t before = mtu_->current();
  mtu_->on_lost(largest_size, largest_size_sent, now);
  if (mtu_->current() < before) controller_->on_mtu_change(mtu_->current());
}

void LossDetection::find_lost(Time now) {
  if (!senders_) {
    find_lost_of(0, first_outstanding_, now);
    return;
  }
  // Each sender has a place of its own from which to look on: what one of them has outstanding does
  // not make all that the others sent since be passed again.
  for (std::uint8_t sender = 0; sender < Senders::k_max; ++sender) {
    PacketNumber& first = senders_->first_outstanding(sender);
    first = std::max(first, first_outstanding_);
    while (first < largest_acknowledged_ && !outstanding_of(sender, first)) ++first;
    find_lost_of(sender, first, now);
  }
  std::ranges::sort(newly_lost_);
}

void LossDetection::find_lost_of(std::uint8_t sender, PacketNumber from, Time now) {
  const Duration of_path = rtt_->loss_delay();
  for (PacketNumber number = from; number < largest_acknowledged_; ++number) {
    if (!outstanding_of(sender, number)) continue;
    const SentPacket& packet = sent_.at(number);
    if (packet.untimed && !packet.in_flight) continue;  // it may leave later
    const Time lost_at = packet.time_sent + loss_delay_of(packet, of_path);
    if (lost_at <= now || beyond_threshold(number, packet)) {
      newly_lost_.push_back(number);
      continue;
    }
    // Nothing waits for a packet that is not in flight.
    if (!packet.in_flight) continue;
    loss_time_ = std::min(loss_time_, lost_at);
    // What the same sender sent later is lost later by both thresholds (RFC 9002 §6.1).
    return;
  }
}

bool LossDetection::beyond_threshold(PacketNumber number, const SentPacket& packet) const {
  return senders_ ? senders_->beyond_threshold(number, packet)
                  : largest_acknowledged_ - number >= reordering.packet_threshold();
}

// Packets of several senders overtake each other without any loss.
Duration LossDetection::loss_delay_of(const SentPacket& packet, Duration of_path) const {
  return senders_ ? std::max(of_path, senders_->loss_delay(packet)) + overtaken_ack_delay_
                  : of_path + reordering.delay();
}

// Called when a packet counted as lost turns out not to be: the congestion response was wrong.
void LossDetection::take_back_loss(PacketNumber number, const SentPacket& packet, Time now) {
  if (largest_acknowledged_ > number) reordering.on_spurious_loss(largest_acknowledged_ - number);
  if (packet.in_flight && !packet.mtu_probe && !packet.abandoned && is_current(number) &&
      spurious_loss_.refute(packet.time_sent)) {
    controller_->on_spurious_congestion(now);
  }
}

void LossDetection::declare_lost(PacketNumber number, SentFrameListener& listener) {
  SentPacket& packet = sent_.at(number);
  packet.state = State::kLost;
  if (packet.in_flight) {
    leave_flight(number, packet);
    ++packets_lost_;
  }
  if (ecn_ != nullptr && is_current(number)) ecn_->on_lost(packet.ecn);
  report_frames_lost(number, packet, listener);
}

void LossDetection::report_frames_lost(PacketNumber number, const SentPacket& packet,
                                       SentFrameListener& listener) {
  for_each_frame(number, packet, [&](const SentFrame& frame) {
    if (!is_settled(packet, frame)) listener.on_frame_lost(path_, frame);
  });
}

void LossDetection::report_lost(PacketNumber number, Time now) {
  const SentPacket& packet = sent_.at(number);
  delivery_rate_.on_lost(packet);
  controller_->on_packet_lost({.now = now,
                               .time_sent = packet.time_sent,
                               .number = number,
                               .bytes = packet.bytes,
                               .in_flight_at_send = packet.in_flight_at_send,
                               .lost_since_send = delivery_rate_.lost_since(packet),
                               .delivered = delivery_rate_.delivered(),
                               .application_limited = packet.application_limited});
}

void LossDetection::respond_to_loss(const LossSample& sample) {
  if (sample.persistent) {
    rtt_->on_persistent_congestion();
    if (senders_) senders_->on_persistent_congestion();
  }
  controller_->on_congestion(sample);
}

bool LossDetection::advance_first_outstanding(Duration max_ack_delay) {
  if (first_outstanding_ < sent_.next_number() &&
      sent_.at(first_outstanding_).state == State::kOutstanding) {
    return false;
  }
  return pass_settled(k_persistent_congestion_threshold * probe_timeout(max_ack_delay));
}

bool LossDetection::pass_settled(Duration persistent_after) {
  bool persistent = false;
  for (; first_outstanding_ < sent_.next_number(); ++first_outstanding_) {
    const SentPacket& packet = sent_.at(first_outstanding_);
    if (packet.state == State::kOutstanding) break;
    persistent |= persistent_congestion_.on_settled(packet, persistent_after);
  }
  return persistent;
}

void LossDetection::leave_flight(PacketNumber number, const SentPacket& packet) {
  if (is_current(number)) bytes_in_flight_ -= packet.bytes;
  --packets_in_flight_;
  if (packet.ack_eliciting) --ack_eliciting_in_flight_;
  if (senders_) senders_->on_left_flight(packet);
}

void LossDetection::prune(Time keep_lost_since) {
  sent_.prune(keep_lost_since);
  first_outstanding_ = std::max(first_outstanding_, sent_.oldest());
  spurious_loss_.forget_before(sent_.oldest());
}

void LossDetection::abandon_outstanding(SentFrameListener& listener) {
  for (; first_outstanding_ < sent_.next_number(); ++first_outstanding_) {
    if (sent_.at(first_outstanding_).state == State::kOutstanding) {
      declare_lost(first_outstanding_, listener);
    }
  }
  prune(Time::max());
  batch_ = {};
  persistent_congestion_.break_run();
  loss_time_ = k_never;
  probe_count_ = 0;
}

// --- timers -------------------------------------------------------------------------------------

bool LossDetection::over_limit() const {
  return sent_.next_number() - sent_.oldest() > k_max_kept + 2 * packets_in_flight_;
}

Time LossDetection::probe_deadline(const TimerTerms& terms) const {
  if (ack_eliciting_in_flight_ == 0 || !terms.may_probe) return k_never;
  const int backoff = 1 << std::min(probe_count_, k_max_backoff);
  const Duration once = probe_timeout(terms.max_ack_delay);
  return probe_wait_from_ + std::min(once * backoff, std::max(once, terms.longest_probe_wait));
}

Time LossDetection::next_timeout(const TimerTerms& terms) const {
  if (over_limit()) return Time{};
  if (loss_time_ != k_never) return loss_time_;
  return probe_deadline(terms);
}

LossDetection::TimeoutAction LossDetection::on_timeout(const TimerTerms& terms, Time now,
                                                       SentFrameListener& listener) {
  if (over_limit()) {
    prune(Time::max());
    while (over_limit()) {
      declare_lost(first_outstanding_, listener);
      advance_first_outstanding(terms.max_ack_delay);
      prune(Time::max());
    }
    return TimeoutAction::kLossDetected;
  }
  if (loss_time_ != k_never) {
    if (now < loss_time_) return TimeoutAction::kNone;
    detect_lost(terms.max_ack_delay, false, now, listener);
    return TimeoutAction::kLossDetected;
  }
  if (now < probe_deadline(terms)) return TimeoutAction::kNone;
  ++probe_count_;
  probe_wait_from_ = now;
  if (probe_count_ == k_black_hole_probes && mtu_ != nullptr) {
    mtu_->on_black_hole(now);
    controller_->on_mtu_change(mtu_->current());
  }
  return TimeoutAction::kProbe;
}

bool LossDetection::worth_repeating(PacketNumber number) const {
  const SentPacket& packet = sent_.at(number);
  return packet.state == State::kOutstanding && packet.ack_eliciting && !packet.mtu_probe;
}

void LossDetection::mark_for_probe(PacketNumber number, SentFrameListener& listener) {
  next_probe_ = number + 1;
  sent_.at(number).repeated = true;
  sent_.for_each_frame(sent_.at(number), [&](const SentFrame& frame) {
    // RFC 9221 §5.2: the transport does not send DATAGRAM frames again, and this one may still
    // arrive.
    if (frame.kind() != SentFrame::Kind::kDatagram) listener.on_frame_lost(path_, frame);
  });
}

void LossDetection::mark_oldest_for_probe(SentFrameListener& listener) {
  PacketNumber number = std::max(next_probe_, first_outstanding_);
  while (number < sent_.next_number() && !worth_repeating(number)) ++number;
  if (number == sent_.next_number()) {
    number = first_outstanding_;
    while (number < sent_.next_number() && !worth_repeating(number)) ++number;
    if (number == sent_.next_number()) return;
  }
  mark_for_probe(number, listener);
}

std::uint64_t LossDetection::mark_late_for_probe(Time since, std::uint64_t limit,
                                                 SentFrameListener& listener) {
  std::uint64_t bytes = 0;
  // Begins with the newest packet, which would arrive last.
  for (PacketNumber number = sent_.next_number(); number-- > first_outstanding_ && bytes < limit;) {
    const SentPacket& packet = sent_.at(number);
    if (packet.time_sent <= since && packet.state != State::kSkipped) break;
    if (!worth_repeating(number) || packet.repeated) continue;
    bytes += sent_.at(number).bytes;
    mark_for_probe(number, listener);
  }
  return bytes;
}

void LossDetection::mark_outstanding_for_probe(SentFrameListener& listener) {
  for (PacketNumber number = first_outstanding_; number < sent_.next_number(); ++number) {
    if (!worth_repeating(number)) continue;
    if (!sent_.at(number).repeated) mark_for_probe(number, listener);
    give_up_datagrams(number, listener);
  }
}

// An application that sends datagrams again, such as a tunnel, then does so over another path, and
// not only when this one is abandoned. Each datagram has one fate: what becomes of the packet later
// does not count for it.
void LossDetection::give_up_datagrams(PacketNumber number, SentFrameListener& listener) {
  SentPacket& packet = sent_.at(number);
  if (packet.given_up) return;
  sent_.for_each_frame(packet, [&](const SentFrame& frame) {
    if (frame.kind() == SentFrame::Kind::kDatagram) listener.on_frame_lost(path_, frame);
  });
  packet.given_up = true;
}

bool LossDetection::is_settled(const SentPacket& packet, const SentFrame& frame) {
  return packet.given_up && frame.kind() == SentFrame::Kind::kDatagram;
}

}  // namespace sheaf::quic
