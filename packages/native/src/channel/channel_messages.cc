#include "channel/channel_messages.h"

#include <algorithm>

#include "channel_authentication/key_chain.h"
#include "wire/fixed_fields.h"

namespace sheaf::quic {
namespace {

enum class DatagramKind : std::uint8_t { kCopy = 0, kReport = 1, kClockQuery = 2, kClock = 3 };

// What follows the sequence number of an offer: the version of IP of its addresses, and whether it
// has a group.
enum class OfferForm : std::uint8_t {
  kWithdrawn = 0,
  kUnicastOnly = 1,
  kGroup = 2,
};

OfferForm form_of(const ChannelOffer& offer) {
  if (offer.withdrawn()) return OfferForm::kWithdrawn;
  return offer.has_group() ? OfferForm::kGroup : OfferForm::kUnicastOnly;
}

ChannelId read_id(Reader& in) {
  ChannelId id{};
  std::ranges::copy(in.read_bytes(id.size()), id.begin());
  return id;
}

void write_milliseconds(Writer& out, Duration duration) {
  out.write_varint(static_cast<std::uint64_t>(duration / 1ms));
}

// Durations of more than a day are malformed, so that adding them to a time never overflows.
bool read_duration(Reader& in, Duration unit, Duration& duration) {
  const std::uint64_t count = in.read_varint();
  constexpr Duration k_longest = 24h;
  if (count > static_cast<std::uint64_t>(k_longest / unit)) return false;
  duration = unit * static_cast<std::int64_t>(count);
  return true;
}

void write_secret(Writer& out, const TrafficSecret& secret) {
  out.write_u16(static_cast<std::uint16_t>(secret.suite));
  out.write_bytes(secret.view());
}

bool read_secret(Reader& in, TrafficSecret& secret) {
  secret.suite = static_cast<CipherSuite>(in.read_u16());
  if (!known(secret.suite)) return false;
  secret.length = secret_length(secret.suite);
  const Bytes bytes = in.read_bytes(secret.length);
  std::ranges::copy(bytes, secret.bytes.begin());
  return in.ok();
}

void write(Writer& out, const AuthenticationOffer& authentication) {
  out.write_u8(authentication.scheme);
  out.write_u8(static_cast<std::uint8_t>(authentication.parameters.size()));
  out.write_bytes(authentication.parameters.view());
}

bool read(Reader& in, AuthenticationOffer& authentication) {
  authentication.scheme = in.read_u8();
  const std::size_t length = in.read_u8();
  if (length > AuthenticationOffer::k_max_parameters) return false;
  for (const std::uint8_t byte : in.read_bytes(length)) authentication.parameters.push_back(byte);
  return in.ok();
}

void write(Writer& out, const ChannelOffer& offer) {
  out.write_bytes(offer.channel);
  out.write_varint(offer.sequence);
  const OfferForm form = form_of(offer);
  out.write_u8(static_cast<std::uint8_t>(form));
  if (form == OfferForm::kWithdrawn) return;
  fixed::write_address(out, offer.source);
  if (form == OfferForm::kGroup) fixed::write_address(out, offer.group);
  write_secret(out, offer.header);
  out.write_u16(offer.packet_size);
  out.write_varint(offer.max_rate);
  write(out, offer.authentication);
  out.write_u32(offer.reach);
  write_milliseconds(out, offer.deadline);
  write_milliseconds(out, offer.report_interval);
  out.write_u16(offer.report_share);
  out.write_u8(offer.repairs ? 1 : 0);
}

bool read(Reader& in, ChannelOffer& offer) {
  offer.channel = read_id(in);
  offer.sequence = in.read_varint();
  const auto form = static_cast<OfferForm>(in.read_u8());
  if (!in.ok() || form > OfferForm::kGroup) return false;
  if (form == OfferForm::kWithdrawn) return true;
  offer.source = fixed::read_address(in);
  if (form == OfferForm::kGroup) offer.group = fixed::read_address(in);
  if (!read_secret(in, offer.header)) return false;
  offer.packet_size = in.read_u16();
  offer.max_rate = in.read_varint();
  if (!read(in, offer.authentication)) return false;
  offer.reach = in.read_u32();
  const bool durations =
      read_duration(in, 1ms, offer.deadline) && read_duration(in, 1ms, offer.report_interval);
  offer.report_share = in.read_u16();
  const std::uint8_t repairs = in.read_u8();
  offer.repairs = repairs == 1;
  const bool is_even = (offer.channel.back() & 1) == 0;
  return durations && is_even && repairs <= 1 && offer.reach > 0 && offer.deadline > 0ms &&
         offer.report_interval > 0ms;
}

void write(Writer& out, const ChannelKey& key) {
  out.write_bytes(key.channel);
  out.write_varint(key.sequence);
  out.write_varint(key.first);
  write_secret(out, key.secret);
}

bool read(Reader& in, ChannelKey& key) {
  key.channel = read_id(in);
  key.sequence = in.read_varint();
  key.first = in.read_varint();
  return read_secret(in, key.secret);
}

bool names_number(ListenState state) {
  return state == ListenState::kReceiving || state == ListenState::kUnicast;
}

void write(Writer& out, const ChannelState& state) {
  out.write_bytes(state.channel);
  out.write_varint(state.offer);
  out.write_u8(static_cast<std::uint8_t>(state.state));
  if (names_number(state.state)) out.write_varint(state.number);
  if (state.state == ListenState::kLeft) out.write_u8(static_cast<std::uint8_t>(state.reason));
}

bool read(Reader& in, ChannelState& state) {
  state.channel = read_id(in);
  state.offer = in.read_varint();
  state.state = static_cast<ListenState>(in.read_u8());
  if (names_number(state.state)) state.number = in.read_varint();
  if (state.state == ListenState::kLeft) state.reason = static_cast<LeaveReason>(in.read_u8());
  return state.state <= ListenState::kLeft && state.reason <= k_last_leave_reason;
}

// Reads ranges as ACK frames have them (RFC 9000 §19.3.1), except that they may begin below the
// end.
bool read_missing(Reader& in, ChannelReport& report) {
  const std::size_t count = in.read_u8();
  if (count > ChannelReport::k_max_missing) return false;
  std::uint64_t above = report.end;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t gap = in.read_varint();
    const std::uint64_t size = in.read_varint();
    // Ranges do not touch, since they would be one.
    if (size == 0 || (i > 0 && gap == 0) || gap > above || size > above - gap) return false;
    const Interval range{above - gap - size, above - gap};
    report.missing.push_back(range);
    above = range.start;
  }
  return true;
}

bool read(Reader& in, ChannelReport& report) {
  report.channel = read_id(in);
  report.sequence = in.read_varint();
  report.end = in.read_varint();
  report.received = in.read_varint();
  report.lost = in.read_varint();
  report.recovered = in.read_varint();
  report.expired = in.read_varint();
  return read_duration(in, 1us, report.jitter) && read_missing(in, report);
}

bool read(Reader& in, ChannelClockQuery& query) {
  query.nonce = fixed::read_u64(in);
  return true;
}

bool read(Reader& in, ChannelClock& clock) {
  clock.nonce = fixed::read_u64(in);
  const std::uint64_t time = fixed::read_u64(in);
  if (time > k_latest_source_time) return false;
  clock.clock.time = Time(static_cast<std::int64_t>(time) * 1us);
  clock.clock.chain = in.read_u32();
  std::ranges::copy(in.read_bytes(sizeof(MacKey)), clock.clock.commitment.begin());
  return clock.clock.chain <= k_last_chain;
}

template <typename Message, typename Value>
Result<Value, ChannelMessageFault> read_whole(Reader in) {
  Message message;
  if (!read(in, message) || !in.ok() || !in.empty()) return ChannelMessageFault::kMalformed;
  return Value(std::move(message));
}

}  // namespace

ChannelCapsule type_of(const ChannelCapsuleValue& value) {
  constexpr ChannelCapsule k_types[] = {ChannelCapsule::kOffer, ChannelCapsule::kKey,
                                        ChannelCapsule::kState};
  return k_types[value.index()];
}

WipedBytes encode_channel_capsule(const ChannelCapsuleValue& value) {
  WipedBytes bytes(k_max_channel_capsule);
  Writer out(bytes);
  std::visit([&](const auto& message) { write(out, message); }, value);
  bytes.resize(out.size());
  return bytes;
}

Result<ChannelCapsuleValue, ChannelMessageFault> decode_channel_capsule(std::uint64_t type,
                                                                        Bytes value) {
  const Reader in(value);
  switch (static_cast<ChannelCapsule>(type)) {
    case ChannelCapsule::kOffer:
      return read_whole<ChannelOffer, ChannelCapsuleValue>(in);
    case ChannelCapsule::kKey:
      return read_whole<ChannelKey, ChannelCapsuleValue>(in);
    case ChannelCapsule::kState:
      return read_whole<ChannelState, ChannelCapsuleValue>(in);
  }
  return ChannelMessageFault::kUnknownType;
}

void write_channel_copy_head(Writer& out) {
  out.write_u8(static_cast<std::uint8_t>(DatagramKind::kCopy));
}

void write_channel_report(Writer& out, const ChannelReport& report) {
  out.write_u8(static_cast<std::uint8_t>(DatagramKind::kReport));
  out.write_bytes(report.channel);
  for (const std::uint64_t value : {report.sequence, report.end, report.received, report.lost,
                                    report.recovered, report.expired}) {
    out.write_varint(value);
  }
  out.write_varint(static_cast<std::uint64_t>(report.jitter / 1us));
  out.write_u8(static_cast<std::uint8_t>(report.missing.size()));
  std::uint64_t above = report.end;
  for (const Interval& range : report.missing.view()) {
    out.write_varint(above - range.end);
    out.write_varint(range.size());
    above = range.start;
  }
}

void write_clock_query(Writer& out, const ChannelClockQuery& query) {
  out.write_u8(static_cast<std::uint8_t>(DatagramKind::kClockQuery));
  fixed::write_u64(out, query.nonce);
}

// Rounds the time up: a member has to know how late it is at the source at least.
void write_clock(Writer& out, const ChannelClock& clock) {
  out.write_u8(static_cast<std::uint8_t>(DatagramKind::kClock));
  fixed::write_u64(out, clock.nonce);
  const auto time = std::chrono::ceil<std::chrono::microseconds>(clock.clock.time);
  fixed::write_u64(out, static_cast<std::uint64_t>(time.time_since_epoch().count()));
  out.write_u32(clock.clock.chain);
  out.write_bytes(clock.clock.commitment);
}

Result<ChannelDatagram, ChannelMessageFault> decode_channel_datagram(Bytes datagram) {
  Reader in(datagram);
  const auto kind = static_cast<DatagramKind>(in.read_u8());
  if (!in.ok()) return ChannelMessageFault::kMalformed;
  switch (kind) {
    case DatagramKind::kCopy:
      if (in.empty()) return ChannelMessageFault::kMalformed;
      return ChannelDatagram(ChannelCopy{in.read_rest()});
    case DatagramKind::kReport:
      return read_whole<ChannelReport, ChannelDatagram>(in);
    case DatagramKind::kClockQuery:
      return read_whole<ChannelClockQuery, ChannelDatagram>(in);
    case DatagramKind::kClock:
      return read_whole<ChannelClock, ChannelDatagram>(in);
  }
  return ChannelMessageFault::kUnknownType;
}

}  // namespace sheaf::quic
