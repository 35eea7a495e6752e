#include "channel_request/receiver_request.h"

#include <algorithm>
#include <array>

namespace sheaf::channel_request {

using quic::LeaveReason;

ReceiverRequest::ReceiverRequest(const Place& place, const quic::ChannelLimits& limits,
                                 quic::Random& random, Time now)
    : ChannelRequest(place, http3::DatagramInbox::k_ordinary_turn),
      limits_(limits),
      random_(random) {
  begin(now);
}

bool ReceiverRequest::on_capsule(const quic::ChannelCapsuleValue& value, Time now) {
  if (const auto* offer = std::get_if<quic::ChannelOffer>(&value)) return on_offer(*offer, now);
  const auto* key = std::get_if<quic::ChannelKey>(&value);
  if (!key || !receiver_ || key->channel != offer_.channel) return false;
  receiver_->channel.on_key(*key, now);
  return true;
}

bool ReceiverRequest::on_offer(const quic::ChannelOffer& offer, Time now) {
  const bool first = offers_ == 0;
  if (!first && (offer.channel != offer_.channel || offer.sequence <= offer_.sequence)) {
    return false;
  }
  if (const auto reason = quic::objection(offer, limits_)) {
    refuse(offer, *reason);
    return true;
  }
  if (!offer_rate_.allows(now)) {
    refuse(offer, LeaveReason::kMalformed);
    return true;
  }
  offer_rate_.spend(1, now);
  offer_ = offer;
  ++offers_;
  receiver_ = std::make_unique<Receiver>(offer, verifier_of(offer), random_, now);
  // A later offer may have another chain of keys.
  if (receiver_->verifier->needs_clock()) clock_.begin(now);
  return true;
}

std::unique_ptr<quic::Verifier> ReceiverRequest::verifier_of(const quic::ChannelOffer& offer) {
  return quic::make_verifier(
      offer.authentication,
      {.id = offer.channel, .packet_size = offer.packet_size, .max_rate = offer.max_rate},
      {.runner = runner_, .clock = clock_.bound(), .random = random_});
}

void ReceiverRequest::refuse(const quic::ChannelOffer& offer, LeaveReason reason) {
  if (receiver_) receiver_->channel.leave(reason);
  left_ = reason;
  write_capsule(quic::ChannelState{.channel = offer.channel,
                                   .offer = offer.sequence,
                                   .state = quic::ListenState::kLeft,
                                   .reason = reason});
  end();
}

bool ReceiverRequest::on_datagram(const quic::ChannelDatagram& datagram, Time now) {
  if (const auto* clock = std::get_if<quic::ChannelClock>(&datagram)) return on_clock(*clock, now);
  const auto* copy = std::get_if<quic::ChannelCopy>(&datagram);
  if (!copy || offers_ == 0) return false;
  // The connection that brought the offer, and with it the source's public key, proves copies as
  // well as it proves that key.
  if (receiver_) receiver_->channel.receive(copy->packet, quic::ChannelWay::kSource, now);
  return true;
}

// Responses to earlier queries may be late, as any datagram.
bool ReceiverRequest::on_clock(const quic::ChannelClock& clock, Time now) {
  if (!receiver_ || !receiver_->verifier->needs_clock()) return false;
  if (!clock_.on_response(clock.nonce, clock.clock.time, now)) return true;
  receiver_->verifier->on_clock(clock.clock);
  return true;
}

void ReceiverRequest::on_group_packet(Bytes packet, Time now) {
  if (receiver_ && !over()) receiver_->channel.receive(packet, quic::ChannelWay::kGroup, now);
}

void ReceiverRequest::on_joined() {
  if (receiver_ && !over()) receiver_->channel.on_joined();
}

void ReceiverRequest::leave(LeaveReason reason, Time now) {
  if (over()) return;
  if (!receiver_) return end();
  receiver_->channel.leave(reason);
  send(now);
  if (!may_write()) end();  // the source does not read, so it hears the end alone
}

Time ReceiverRequest::next_timeout() const {
  if (!receiver_ || over()) return quic::k_never;
  return std::min(receiver_->channel.next_timeout(), clock_.next_timeout());
}

void ReceiverRequest::on_timeout(Time now) {
  if (receiver_ && !over()) receiver_->channel.on_timeout(now);
}

void ReceiverRequest::send(Time now) {
  if (receiver_ && may_write()) send_state();
  if (receiver_ && !over()) send_clock_query(now);
  if (receiver_ && !over()) send_report(now);
}

void ReceiverRequest::send_state() {
  const auto state = receiver_->channel.poll_state();
  if (!state) return;
  write_capsule(*state);
  if (state->state != quic::ListenState::kLeft) return;
  left_ = state->reason;
  end();
}

// One that finds no room is lost, and another one follows.
void ReceiverRequest::send_clock_query(Time now) {
  const auto nonce = clock_.poll(now, random_);
  if (!nonce || !may_send()) return;
  std::array<std::uint8_t, quic::k_max_clock_message> bytes;
  quic::Writer out(bytes);
  quic::write_clock_query(out, {*nonce});
  send_datagram(out.written(), 0);
}

// A report that finds no room is worth nothing later: the next one says more. It is dropped, since
// a timer for it would be due at once, and again, until there is room.
void ReceiverRequest::send_report(Time now) {
  const auto report = receiver_->channel.poll_report(now);
  if (!report || !may_send()) return;
  std::array<std::uint8_t, quic::k_max_channel_report> buffer;
  quic::Writer out(buffer);
  quic::write_channel_report(out, *report);
  send_datagram(out.written(), quic::k_no_packet_number);
}

}  // namespace sheaf::channel_request
