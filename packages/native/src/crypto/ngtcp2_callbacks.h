#pragma once

#include <ngtcp2/ngtcp2.h>

#include "util/random.h"
#include "util/time.h"

namespace sheaf::quic {

// Returns settings that both roles share. `random` outlives the connection.
ngtcp2_settings make_settings(Random& random, Time now, Duration timeout);
// Returns callbacks that both roles share. The connection's user data is a `HandshakeState*`.
ngtcp2_callbacks make_callbacks();

}  // namespace sheaf::quic
