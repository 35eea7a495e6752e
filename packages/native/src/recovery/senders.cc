#include "recovery/senders.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <utility>

namespace sheaf::quic {

namespace {

using State = SentPacket::State;

bool was_sent(const SentPacket& packet) {
  return packet.state != State::kSkipped && packet.state != State::kRefused;
}

}  // namespace

Senders::Senders(const RttEstimator& rtt, const SentPackets& sent,
                 PacketNumber largest_acknowledged) {
  senders_[0].rtt = rtt;
  update_loss_delay(0);
  for (PacketNumber number = sent.oldest(); number < sent.next_number(); ++number) {
    const SentPacket& packet = sent.at(number);
    if (packet.state == State::kOutstanding && packet.in_flight) on_sent(packet);
  }
  if (largest_acknowledged != k_no_packet_number) set_latest(0, largest_acknowledged, sent);
}

void Senders::open(std::uint8_t sender, Duration initial_rtt) {
  assert(sender > 0 && sender < k_max && senders_[sender].in_flight == 0);
  senders_[sender] = Sender();
  senders_[sender].rtt = RttEstimator(initial_rtt);
  update_loss_delay(sender);
}

void Senders::on_sent(const SentPacket& packet) {
  Sender& sender = of(packet);
  ++sender.in_flight;
  sender.eliciting_in_flight += packet.ack_eliciting ? 1 : 0;
  others_in_flight_ += packet.sender != 0 ? 1 : 0;
}

void Senders::on_left_flight(const SentPacket& packet) {
  Sender& sender = of(packet);
  --sender.in_flight;
  sender.eliciting_in_flight -= packet.ack_eliciting ? 1 : 0;
  others_in_flight_ -= packet.sender != 0 ? 1 : 0;
}

void Senders::on_acknowledged(PacketNumber number, const SentPacket& packet) {
  acknowledged_ |= 1u << packet.sender;
  const auto take = [&](Newest& newest) {
    if (newest.number != k_no_packet_number && number < newest.number) return;
    newest = {number, packet.time_sent};
  };
  take(of(packet).newest);
  if (packet.ack_eliciting && !packet.untimed) take(of(packet).newest_eliciting);
}

void Senders::on_ack_end(const AckTerms& terms, const SentPackets& sent, Time now) {
  for (; acknowledged_ != 0; acknowledged_ &= acknowledged_ - 1) {
    end_frame(static_cast<std::uint8_t>(std::countr_zero(acknowledged_)), terms, sent, now);
  }
}

void Senders::end_frame(std::uint8_t index, const AckTerms& terms, const SentPackets& sent,
                        Time now) {
  Sender& sender = senders_[index];
  const Newest newest = std::exchange(sender.newest, {});
  const Newest eliciting = std::exchange(sender.newest_eliciting, {});
  const PacketNumber before = sender.latest[0];
  const auto raises = [before](PacketNumber number) {
    return number != k_no_packet_number && (before == k_no_packet_number || number > before);
  };
  if (!raises(newest.number)) return;
  set_latest(index, newest.number, sent);
  // A packet below the largest of the frame made the peer acknowledge at once, if it elicits an
  // acknowledgement. So the delay that the peer reports concerns the largest alone (RFC 9000
  // §13.2.1). A peer that was asked to ignore the order delays it for a time that nobody knows.
  if (newest.number == terms.largest && terms.gave_rtt) {
    sender.rtt.add_sample(now - newest.time_sent, terms.ack_delay, terms.max_ack_delay,
                          terms.handshake_confirmed);
    sender.ack_delay = std::min(terms.ack_delay, terms.max_ack_delay);
  } else if (raises(eliciting.number) && eliciting.number >= terms.first_current) {
    sender.rtt.add_sample(now - eliciting.time_sent, Duration::zero(), terms.max_ack_delay,
                          terms.handshake_confirmed);
    sender.ack_delay.reset();
    if (terms.overtaken_ack_delay == Duration::zero()) sender.ack_delay = Duration::zero();
  } else {
    return;
  }
  ++sender.samples;
  update_loss_delay(index);
}

// Walks down only as far as the largest number before, so each number is passed once.
void Senders::set_latest(std::uint8_t sender, PacketNumber largest, const SentPackets& sent) {
  auto& latest = senders_[sender].latest;
  const auto before = latest;
  latest.fill(k_no_packet_number);
  std::size_t found = 0;
  latest[found++] = largest;
  const PacketNumber known = before[0] == k_no_packet_number ? 0 : before[0] + 1;
  const PacketNumber lowest = std::max(known, sent.oldest());
  for (PacketNumber number = largest; number > lowest && found < k_threshold;) {
    const SentPacket& packet = sent.at(--number);
    if (packet.sender == sender && was_sent(packet)) latest[found++] = number;
  }
  for (auto number = before.begin(); found < k_threshold && number != before.end();) {
    latest[found++] = *number++;
  }
}

void Senders::on_refused(std::uint8_t sender, const SentPackets& sent) {
  const PacketNumber largest = senders_[sender].latest[0];
  if (largest == k_no_packet_number) return;
  senders_[sender].latest.fill(k_no_packet_number);
  set_latest(sender, largest, sent);
}

// The packets of a run leave in a burst and take different times to get to their sender, hence the
// deviation. Before the first sample, the delay is as long as a probe timeout.
void Senders::update_loss_delay(std::uint8_t index) {
  Sender& sender = senders_[index];
  if (!sender.rtt.has_sample()) {
    sender.loss_delay = sender.rtt.probe_timeout(Duration::zero());
  } else {
    sender.loss_delay =
        sender.rtt.loss_delay() + (index == 0 ? Duration::zero() : sender.rtt.variance());
  }
}

Duration Senders::probe_timeout(Duration max_ack_delay) const {
  Duration longest = Duration::zero();
  for (const Sender& sender : senders_) {
    if (sender.eliciting_in_flight == 0) continue;
    longest = std::max(longest, sender.rtt.probe_timeout(max_ack_delay));
  }
  return longest;
}

void Senders::on_persistent_congestion() {
  for (Sender& sender : senders_) {
    if (sender.rtt.has_sample()) sender.rtt.on_persistent_congestion();
  }
}

void Senders::forget_rtt() {
  for (std::uint8_t sender = 0; sender < k_max; ++sender) {
    senders_[sender].rtt = RttEstimator{};
    update_loss_delay(sender);
  }
}

}  // namespace sheaf::quic
