#pragma once

#include "channel_authentication/clock_bound.h"
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

// The channel whose packets are verified
struct VerifiedChannel {
  ChannelId id{};
  std::size_t packet_size = 0;  // maximum, in bytes
  std::uint64_t max_rate = 0;   // bytes per second
};

// Returns the verifier of an offer's scheme. Null: `is_known` is false.
std::unique_ptr<Verifier> make_verifier(const AuthenticationOffer& offer,
                                        const VerifiedChannel& channel, const VerifierTools& tools);

}  // namespace sheaf::quic
