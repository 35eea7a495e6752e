#include "channel_authentication/scheme.h"

#include <algorithm>

#include "wire/fixed_fields.h"

namespace sheaf::quic {
namespace {

// Packets wait for their key as long as a delay. Members keep none for much longer.
constexpr Duration k_longest_delay = 1s;

template <std::size_t length>
std::array<std::uint8_t, length> read_array(Reader& in) {
  std::array<std::uint8_t, length> array{};
  std::ranges::copy(in.read_bytes(length), array.begin());
  return array;
}

AuthenticationOffer offer_with(AuthenticationScheme scheme, Bytes parameters) {
  AuthenticationOffer offer;
  offer.scheme = static_cast<std::uint8_t>(scheme);
  for (const std::uint8_t byte : parameters) offer.parameters.push_back(byte);
  return offer;
}

}  // namespace

AuthenticationOffer offer_of_public_key(AuthenticationScheme scheme, const Ed25519PublicKey& key) {
  return offer_with(scheme, key);
}

std::optional<Ed25519PublicKey> public_key_of(const AuthenticationOffer& offer) {
  Reader in(offer.parameters.view());
  const auto key = read_array<sizeof(Ed25519PublicKey)>(in);
  if (!in.ok() || !in.empty()) return std::nullopt;
  return key;
}

AuthenticationOffer offer_of(const TimedParameters& parameters) {
  std::array<std::uint8_t, AuthenticationOffer::k_max_parameters> bytes;
  Writer out(bytes);
  const TimedSchedule& schedule = parameters.schedule;
  fixed::write_u64(out, static_cast<std::uint64_t>(schedule.start.time_since_epoch() / 1us));
  out.write_u16(static_cast<std::uint16_t>(schedule.interval / 1ms));
  out.write_u8(static_cast<std::uint8_t>(schedule.delay));
  out.write_u32(parameters.known_interval);
  out.write_bytes(parameters.known_key);
  return offer_with(AuthenticationScheme::kTimed, out.written());
}

std::optional<TimedParameters> timed_parameters_of(const AuthenticationOffer& offer) {
  Reader in(offer.parameters.view());
  TimedParameters parameters;
  TimedSchedule& schedule = parameters.schedule;
  const std::uint64_t start = fixed::read_u64(in);
  schedule.interval = in.read_u16() * 1ms;
  schedule.delay = in.read_u8();
  parameters.known_interval = in.read_u32();
  parameters.known_key = read_array<sizeof(MacKey)>(in);
  if (!in.ok() || !in.empty() || start > k_latest_source_time) return std::nullopt;
  schedule.start = Time(static_cast<std::int64_t>(start) * 1us);
  const Duration delay = schedule.interval * schedule.delay;
  if (delay == 0ms || delay > k_longest_delay) return std::nullopt;
  return parameters;
}

bool is_known(const AuthenticationOffer& offer) {
  switch (static_cast<AuthenticationScheme>(offer.scheme)) {
    case AuthenticationScheme::kNone:
      return offer.parameters.empty();
    case AuthenticationScheme::kSigned:
    case AuthenticationScheme::kPacketSignatures:
      return public_key_of(offer).has_value();
    case AuthenticationScheme::kTimed:
      return timed_parameters_of(offer).has_value();
    case AuthenticationScheme::kUnnamed:
      break;
  }
  return false;
}

}  // namespace sheaf::quic
