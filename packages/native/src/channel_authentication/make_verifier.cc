#include "channel_authentication/make_verifier.h"

#include "channel_authentication/flight_verifier.h"
#include "channel_authentication/packet_signatures.h"
#include "channel_authentication/timed_verifier.h"

namespace sheaf::quic {

std::unique_ptr<Verifier> make_verifier(const AuthenticationOffer& offer, const ChannelId& channel,
                                        std::size_t packet_size, const VerifierTools& tools) {
  if (!is_known(offer)) return nullptr;
  switch (static_cast<AuthenticationScheme>(offer.scheme)) {
    case AuthenticationScheme::kNone:
      return std::make_unique<NoVerifier>();
    case AuthenticationScheme::kSigned:
      return std::make_unique<FlightVerifier>(
          FlightVerifierConfig{.channel = channel, .max_datagram = packet_size},
          *public_key_of(offer), tools.runner, tools.random);
    case AuthenticationScheme::kPacketSignatures:
      return std::make_unique<PacketSignatureVerifier>(channel, *public_key_of(offer));
    case AuthenticationScheme::kTimed: {
      const TimedParameters parameters = *timed_parameters_of(offer);
      const TimedVerifierConfig config{.channel = channel,
                                       .schedule = parameters.schedule,
                                       .known_interval = parameters.known_interval,
                                       .known_key = parameters.known_key,
                                       .max_datagram = packet_size};
      return std::make_unique<TimedVerifier>(config, tools.clock, tools.random);
    }
    case AuthenticationScheme::kUnnamed:
      break;
  }
  return nullptr;
}

}  // namespace sheaf::quic
