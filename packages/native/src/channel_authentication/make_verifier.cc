#include "channel_authentication/make_verifier.h"

#include <algorithm>

#include "channel_authentication/flight_verifier.h"
#include "channel_authentication/packet_signatures.h"
#include "channel_authentication/timed_verifier.h"

namespace sheaf::quic {
namespace {

// All packets that wait for their keys at the channel's full rate. A slow channel has more room, so
// that a forger displaces few of its packets.
std::size_t room_for(const TimedSchedule& schedule, std::uint64_t max_rate) {
  const double bytes = to_seconds(schedule.longest_wait()) * static_cast<double>(max_rate);
  return static_cast<std::size_t>(std::clamp(bytes,
                                             static_cast<double>(CandidateStore::k_ordinary_bytes),
                                             static_cast<double>(CandidateStore::k_max_bytes)));
}

}  // namespace

std::unique_ptr<Verifier> make_verifier(const AuthenticationOffer& offer,
                                        const VerifiedChannel& channel,
                                        const VerifierTools& tools) {
  if (!is_known(offer)) return nullptr;
  switch (static_cast<AuthenticationScheme>(offer.scheme)) {
    case AuthenticationScheme::kNone:
      return std::make_unique<NoVerifier>();
    case AuthenticationScheme::kSigned:
      return std::make_unique<FlightVerifier>(
          FlightVerifierConfig{.channel = channel.id, .max_datagram = channel.packet_size},
          *public_key_of(offer), tools.runner, tools.random);
    case AuthenticationScheme::kPacketSignatures:
      return std::make_unique<PacketSignatureVerifier>(channel.id, *public_key_of(offer));
    case AuthenticationScheme::kTimed: {
      const TimedParameters parameters = *timed_parameters_of(offer);
      const TimedVerifierConfig config{
          .channel = channel.id,
          .schedule = parameters.schedule,
          .known_interval = parameters.known_interval,
          .known_key = parameters.known_key,
          .max_datagram = channel.packet_size,
          .max_bytes = room_for(parameters.schedule, channel.max_rate)};
      return std::make_unique<TimedVerifier>(config, tools.clock, tools.random);
    }
    case AuthenticationScheme::kUnnamed:
      break;
  }
  return nullptr;
}

}  // namespace sheaf::quic
