#include "channel_request/source_request.h"

#include <array>
#include <utility>

#include "channel/offer_check.h"

namespace sheaf::channel_request {
namespace {

// Room for the usual report. A source may have very many receivers, whose longest reports come
// seldom.
constexpr std::size_t k_kept_bytes = 256;

// Names a datagram that is no copy: the largest number that comes back. No packet has it.
constexpr quic::PacketNumber k_no_copy = (quic::PacketNumber{1} << 48) - 1;

}  // namespace

SourceRequest::SourceRequest(const Place& place, quic::ChannelSource& source, Time now)
    : ChannelRequest(place, k_kept_bytes), source_(source) {
  write_capsule(source_.offer_at(now));
  begin(now);
}

bool SourceRequest::on_capsule(const quic::ChannelCapsuleValue& value, Time now) {
  const auto* state = std::get_if<quic::ChannelState>(&value);
  return state && state->channel == source_.offer().channel && on_state(*state, now);
}

bool SourceRequest::on_state(const quic::ChannelState& state, Time now) {
  // It was said before the receiver had the latest offer.
  if (state.offer != source_.offer().sequence) return true;
  if (state.state == quic::ListenState::kLeft) {
    end();
    return true;
  }
  if (!receiver_ && !begin_copies(state.state)) return false;
  if (receiver_) source_.on_state(*receiver_, state, now);
  return true;
}

// A receiver may have joined the group by the time of its first state. It has no keys, so it
// cannot have opened a packet.
bool SourceRequest::begin_copies(quic::ListenState first) {
  if (first != quic::ListenState::kWant && first != quic::ListenState::kJoined) return false;
  receiver_ = source_.add_receiver();
  if (!receiver_) end();  // as many receivers as the source takes
  return true;
}

bool SourceRequest::on_datagram(const quic::ChannelDatagram& datagram, Time now) {
  if (const auto* query = std::get_if<quic::ChannelClockQuery>(&datagram)) {
    clock_nonce_ = query->nonce;
    return source_.clock(now).has_value();
  }
  const auto* report = std::get_if<quic::ChannelReport>(&datagram);
  if (!report || report->channel != source_.offer().channel) return false;
  // A datagram may overtake the state that it follows.
  if (receiver_) source_.on_report(*receiver_, *report, now, round_trip());
  return true;
}

void SourceRequest::on_lost(quic::PacketNumber number) {
  if (receiver_ && number != k_no_copy) source_.on_copy_lost(*receiver_, number);
}

void SourceRequest::on_over() {
  if (receiver_) source_.remove_receiver(*std::exchange(receiver_, std::nullopt));
}

void SourceRequest::withdraw() {
  quic::ChannelOffer withdrawn;
  withdrawn.channel = source_.offer().channel;
  withdrawn.sequence = source_.offer().sequence + 1;
  if (may_write()) write_capsule(withdrawn);
  end();
}

bool SourceRequest::needs_copy() const { return receiver_ && source_.due_to(*receiver_).copy; }

bool SourceRequest::waits_for_budget() const { return may_send() && !refused_ && needs_copy(); }

bool SourceRequest::has_due() const {
  return waits_for_budget() || (receiver_ && may_write() && source_.due_to(*receiver_).key);
}

void SourceRequest::send(Time now) {
  while (receiver_ && may_write()) {
    const auto key = source_.poll_key(*receiver_);
    if (!key) break;
    write_capsule(*key);
  }
  send_clock(now);
  send_copies(now);
}

// Goes before copies: the longer it takes, the less the receiver knows.
void SourceRequest::send_clock(Time now) {
  if (!clock_nonce_ || !may_send()) return;
  std::array<std::uint8_t, quic::k_max_clock_message> bytes;
  quic::Writer out(bytes);
  quic::write_clock(out, {*clock_nonce_, *source_.clock(now)});
  if (send_datagram(out.written(), k_no_copy)) clock_nonce_.reset();
}

void SourceRequest::send_copies(Time now) {
  if (refused_ && may_send()) {
    const Bytes packet = source_.ring().find(*refused_);
    if (!packet.empty() && !send_copy(*refused_, packet)) return;
    refused_.reset();
  }
  while (receiver_ && !refused_ && may_send()) {
    const Bytes packet = source_.poll_copy(*receiver_, now);
    if (packet.empty()) return;
    const quic::PacketNumber number = source_.last_copy();
    if (!send_copy(number, packet)) refused_ = number;
  }
}

bool SourceRequest::send_copy(quic::PacketNumber number, Bytes packet) {
  std::array<std::uint8_t, quic::k_channel_copy_head + quic::ChannelLimits{}.max_packet_size>
      datagram;
  quic::Writer out(datagram);
  quic::write_channel_copy_head(out);
  out.write_bytes(packet);
  return send_datagram(out.written(), number);
}

}  // namespace sheaf::channel_request
