#include "sim/channel/member_host.h"

namespace sheaf::quic {

void MemberHost::receive(const Datagram& datagram, Time now) {
  if (datagram.path.local != addresses_.reliable.local &&
      datagram.path.local != addresses_.lossy.local) {
    if (receiver_) receiver_->receive(datagram.payload, ChannelWay::kGroup, now);
    return deliver(now);
  }
  Reader in(datagram.payload);
  const auto kind = static_cast<RequestMessage>(in.read_u8());
  if (kind == RequestMessage::kCapsule) return on_capsule(in.read_rest(), now);
  queue_.send_numbered(addresses_.reliable, RequestMessage::kAcknowledgement, in.read_u32());
  const auto value = decode_channel_datagram(in.read_rest());
  if (!value || !receiver_) return;
  if (const auto* copy = std::get_if<ChannelCopy>(&*value)) {
    receiver_->receive(copy->packet, copies_, now);
  }
  const auto* clock = std::get_if<ChannelClock>(&*value);
  if (clock && clock_.on_response(clock->nonce, clock->clock.time, now)) {
    verifier_->on_clock(clock->clock);
  }
  deliver(now);
}

void MemberHost::on_capsule(Bytes capsule, Time now) {
  Reader in(capsule);
  const std::uint64_t type = in.read_varint();
  const auto value = decode_channel_capsule(type, in.read_rest());
  if (!value) return;
  if (const auto* offer = std::get_if<ChannelOffer>(&*value)) {
    verifier_ =
        make_verifier(offer->authentication, {offer->channel, offer->packet_size, offer->max_rate},
                      {runner_, clock_.bound(), random_});
    if (!verifier_) return;
    receiver_.emplace(*offer, *verifier_, random_, now, ciphers_);
    if (verifier_->needs_clock()) clock_.begin(now);
    receiver_->on_joined();
  } else if (const auto* key = std::get_if<ChannelKey>(&*value)) {
    newest_key_ = *key;
    if (receiver_) receiver_->on_key(*key, now);
  }
}

void MemberHost::deliver(Time now) {
  if (!receiver_) return;
  GroupStreams& groups = receiver_->groups();
  while (const auto event = groups.poll_event()) {
    if (event->kind != GroupEvent::Kind::kReadable) {
      on_group_(*event, {}, now);
      continue;
    }
    for (Bytes bytes; !(bytes = groups.peek(event->group)).empty();) {
      on_group_(*event, bytes, now);
      groups.consume(event->group, bytes.size());
    }
  }
}

void MemberHost::on_timeout(Time now) {
  if (!receiver_) return;
  receiver_->on_timeout(now);
  deliver(now);
}

void MemberHost::poll_transmit(TransmitBatch& batch, Time now) {
  if (receiver_) say(now);
  queue_.poll(batch);
}

void MemberHost::say(Time now) {
  if (const auto state = receiver_->poll_state()) {
    queue_.send_capsule(addresses_.reliable, *state);
  }
  if (const auto nonce = clock_.poll(now, random_)) {
    std::array<std::uint8_t, k_max_clock_message> bytes;
    Writer out(bytes);
    write_clock_query(out, {*nonce});
    queue_.send_numbered(addresses_.lossy, RequestMessage::kDatagram, 0, out.written());
  }
  if (const auto report = receiver_->poll_report(now)) {
    std::array<std::uint8_t, k_max_channel_report> buffer;
    Writer out(buffer);
    write_channel_report(out, *report);
    queue_.send_numbered(addresses_.lossy, RequestMessage::kDatagram, 0, out.written());
    if (!report->missing.empty()) ++loss_reports_;
  }
}

}  // namespace sheaf::quic
