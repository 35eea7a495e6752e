#include "channel_request/channel_request.h"

#include <variant>

#include "http3/capsule_body.h"

namespace sheaf::channel_request {

using http3::ErrorCode;
using http3::value_of;
using quic::WipedBytes;

namespace {

// Datagrams of channels are told from those of WebTransport sessions, whose identifiers are stream
// ids (RFC 9000 §2.1: below 2^62).
constexpr std::uint64_t k_mark = std::uint64_t{1} << 63;
constexpr int k_slot_shift = 48;

std::uint64_t identifier_of(std::uint16_t slot, quic::PacketNumber number) {
  constexpr std::uint64_t k_numbers = (std::uint64_t{1} << k_slot_shift) - 1;
  return k_mark | std::uint64_t{slot} << k_slot_shift | (number & k_numbers);
}

std::optional<http3::CapsuleRule> rule_of(std::uint64_t type) {
  if (type == http3::k_capsule_datagram) return http3::k_datagram_rule;
  switch (static_cast<quic::ChannelCapsule>(type)) {
    case quic::ChannelCapsule::kOffer:
    case quic::ChannelCapsule::kKey:
    case quic::ChannelCapsule::kState:
      return http3::CapsuleRule{quic::k_max_channel_capsule};
  }
  return std::nullopt;
}

template <typename Kind>
const Kind* of(const http3::SessionEvent& event, quic::StreamId stream) {
  const auto* found = std::get_if<Kind>(&event);
  return found && found->stream == stream ? found : nullptr;
}

// Wipes the bytes once they are sent: a capsule may contain a key.
quic::SendChunk wiped_chunk(std::uint64_t type, Bytes value) {
  auto* bytes = new WipedBytes(16 + value.size());
  quic::Writer out(*bytes);
  out.write_varint(type);
  out.write_varint(value.size());
  out.write_bytes(value);
  return {out.written(), [](void* owner) { delete static_cast<WipedBytes*>(owner); }, bytes};
}

}  // namespace

ChannelRequest::ChannelRequest(const Place& place, std::size_t kept_bytes)
    : place_(place), capsules_(rule_of), inbox_(kept_bytes) {
  place_.session.datagrams().claim(place_.stream, inbox_);
}

ChannelRequest::~ChannelRequest() { place_.session.datagrams().release(place_.stream); }

// --- events -------------------------------------------------------------------------------------

bool ChannelRequest::on_event(const http3::SessionEvent& event, Time now) {
  if (const auto* outcome = std::get_if<http3::DatagramOutcome>(&event)) {
    return take_outcome(*outcome);
  }
  if (std::holds_alternative<http3::DatagramsWritable>(event)) datagrams_blocked_ = false;
  if (of<http3::BodyReadable>(event, place_.stream)) {
    read_capsules(now);
    return true;
  }
  if (of<http3::BodyWritable>(event, place_.stream)) {
    writable_ = true;
    return true;
  }
  take_end(event, now);
  return false;
}

bool ChannelRequest::take_outcome(const http3::DatagramOutcome& outcome) {
  constexpr std::uint64_t k_numbers = (std::uint64_t{1} << k_slot_shift) - 1;
  if ((outcome.identifier & ~k_numbers) != identifier_of(place_.slot, 0)) return false;
  if (!outcome.acknowledged && !over_) on_lost(outcome.identifier & k_numbers);
  return true;
}

void ChannelRequest::take_end(const http3::SessionEvent& event, Time now) {
  if (of<http3::MessageFinished>(event, place_.stream)) {
    read_capsules(now);
    if (!capsules_.at_boundary()) return fail(ErrorCode::kMessageError);
    return end();
  }
  if (const auto* reset = of<http3::StreamReset>(event, place_.stream)) {
    if (!over_) place_.session.reset(place_.stream, value_of(ErrorCode::kNoError));
    return finish(reset->error);
  }
  if (const auto* stopped = of<http3::WritingStopped>(event, place_.stream)) {
    return finish(stopped->error);
  }
  const bool connection_ended = std::holds_alternative<http3::SessionClosed>(event);
  if (!connection_ended && !of<http3::StreamClosed>(event, place_.stream)) return;
  closed_ = true;
  finish(value_of(ErrorCode::kNoError));
}

void ChannelRequest::read_capsules(Time now) {
  using Fault = std::optional<ErrorCode>;
  const auto take = [&](const http3::Capsule& capsule) {
    return over_ || take_capsule(capsule, now) ? Fault() : Fault(ErrorCode::kMessageError);
  };
  const Fault fault =
      over_ ? Fault() : http3::read_capsules(place_.session, place_.stream, capsules_, now, take);
  if (fault) fail(*fault);
  if (over_) http3::discard_body(place_.session, place_.stream, now);
}

bool ChannelRequest::take_capsule(const http3::Capsule& capsule, Time now) {
  if (capsule.type == http3::k_capsule_datagram) return take_datagram(capsule.value, now);
  const auto value = quic::decode_channel_capsule(capsule.type, capsule.value);
  return value && on_capsule(*value, now);
}

bool ChannelRequest::take_datagram(Bytes payload, Time now) {
  const auto datagram = quic::decode_channel_datagram(payload);
  // Kinds that a later version adds may be lost as any other.
  if (!datagram) return datagram.error() == quic::ChannelMessageFault::kUnknownType;
  return on_datagram(*datagram, now);
}

void ChannelRequest::on_turn(Time now) {
  inbox_.drain([&](Bytes payload) {
    if (!over_ && !take_datagram(payload, now)) fail(ErrorCode::kDatagramError);
  });
  if (!over_) send(now);
}

// --- sending ------------------------------------------------------------------------------------

void ChannelRequest::write_capsule(const quic::ChannelCapsuleValue& value) {
  write(static_cast<std::uint64_t>(quic::type_of(value)), quic::encode_channel_capsule(value));
}

void ChannelRequest::write(std::uint64_t type, Bytes value) {
  const auto room = place_.session.write_body(place_.stream, wiped_chunk(type, value), false);
  writable_ = room && *room;
  queued_ = true;
  if (!room) finish(value_of(ErrorCode::kRequestCancelled));
}

bool ChannelRequest::send_datagram(Bytes payload, quic::PacketNumber number) {
  http3::RequestDatagrams& datagrams = place_.session.datagrams();
  if (payload.size() <= datagrams.max_payload(place_.stream)) {
    const bool taken = datagrams.send(place_.stream, payload, identifier_of(place_.slot, number));
    datagrams_blocked_ = !taken;
    queued_ = queued_ || taken;
    return taken;
  }
  if (!may_write()) return false;
  write(http3::k_capsule_datagram, payload);
  return true;
}

// --- the end ------------------------------------------------------------------------------------

void ChannelRequest::end() {
  if (over_) return;
  queued_ = true;
  static_cast<void>(place_.session.write_body(place_.stream, {}, true));
  finish(value_of(ErrorCode::kNoError));
}

void ChannelRequest::fail(ErrorCode code) {
  if (over_) return;
  queued_ = true;
  place_.session.reset(place_.stream, value_of(code));
  finish(value_of(code));
}

void ChannelRequest::finish(std::uint64_t code) {
  if (over_) return;
  over_ = code;
  on_over();
}

}  // namespace sheaf::channel_request
