#pragma once

#include <optional>

#include "channel_authentication/timed_schedule.h"
#include "crypto/ed25519.h"
#include "crypto/packet_mac.h"
#include "util/inplace_vector.h"

namespace sheaf::quic {

// How receivers know that a packet is the source's. The numbers are on the wire
// (docs/reference/wire.md#channels).
enum class AuthenticationScheme : std::uint8_t {
  kNone = 0,
  kSigned = 1,
  kTimed = 2,
  kPacketSignatures = 3,
  kUnnamed = 255,  // keys come another way, so no offer names it: for comparison
};

// The part of a channel's offer that its scheme writes and reads
struct AuthenticationOffer {
  static constexpr std::size_t k_max_parameters = 128;
  std::uint8_t scheme = 0;  // others than those above may come
  InplaceVector<std::uint8_t, k_max_parameters> parameters;
};

// Of `signed` and of signed packets
AuthenticationOffer offer_of_public_key(AuthenticationScheme scheme, const Ed25519PublicKey& key);
std::optional<Ed25519PublicKey> public_key_of(const AuthenticationOffer& offer);

// Of `timed`: a key of the chain that is disclosed already, so that the channel can be joined at
// any time
struct TimedParameters {
  TimedSchedule schedule;  // starts at whole microseconds, with intervals of whole milliseconds
  std::uint32_t known_interval = 0;
  MacKey known_key{};
};
AuthenticationOffer offer_of(const TimedParameters& parameters);
std::optional<TimedParameters> timed_parameters_of(const AuthenticationOffer& offer);

// Latest time of a source, in microseconds of its clock: 142 years
inline constexpr std::uint64_t k_latest_source_time = std::uint64_t{1} << 52;

// What a source with the scheme `timed` tells a member that asks for its time, on their connection
struct SourceClock {
  Time time{};              // whole microseconds; not before the query came
  std::uint32_t chain = 0;  // of keys (key_chain.h): the present one, or the next one
  MacKey commitment{};      // of that chain
};

// Returns whether a receiver knows the scheme, and its parameters are some that a source writes.
bool is_known(const AuthenticationOffer& offer);

}  // namespace sheaf::quic
