#pragma once

#include "channel_authentication/jobs.h"
#include "channel_authentication/scheme.h"
#include "channel_authentication/verifier.h"
#include "crypto/channel_secret.h"
#include "util/random.h"

namespace sheaf::quic {

// What verifiers of a node share. All of it lives longer than they do.
struct VerifierTools {
  JobRunner& runner;        // hashes and checks signatures
  const ClockBound& clock;  // of the channel's source
  Random& random;
};

// Returns the verifier of an offer's scheme, for packets of at most `packet_size` bytes. Null:
// `is_known` is false.
std::unique_ptr<Verifier> make_verifier(const AuthenticationOffer& offer, const ChannelId& channel,
                                        std::size_t packet_size, const VerifierTools& tools);

}  // namespace sheaf::quic
