#pragma once

#include "crypto/ngtcp2_types.h"
#include "wire/transport_parameters.h"

namespace sheaf::quic {

// Returns the parameters that ngtcp2 encodes. The caller adds the connection ids of the handshake.
ngtcp2_transport_params to_ngtcp2(const TransportParameters& parameters, Role role);

// Encodes the parameters that a client remembers for 0-RTT (RFC 9000 §7.4.1), to bind a ticket to
// them.
std::vector<std::uint8_t> encode_remembered(const TransportParameters& parameters,
                                            std::uint32_t version);
// Returns false when `now` has a smaller limit than the `remembered` ones, under which 0-RTT data
// may have been sent (RFC 9000 §7.4.1).
bool covers_remembered(const TransportParameters& now, const TransportParameters& remembered);

}  // namespace sheaf::quic
