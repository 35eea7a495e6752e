#pragma once

#include "crypto/ngtcp2_types.h"
#include "wire/transport_parameters.h"

namespace sheaf::quic {

// What ngtcp2 encodes; the connection ids of the handshake are left to the caller.
ngtcp2_transport_params to_ngtcp2(const TransportParameters& parameters, Role role);

// RFC 9000 §7.4.1: the parameters that a client remembers for 0-RTT, as bytes to bind a ticket to.
std::vector<std::uint8_t> encode_remembered(const TransportParameters& parameters,
                                            std::uint32_t version);
// RFC 9000 §7.4.1: false when `now` has a smaller limit than the `remembered` ones, under which
// 0-RTT data may have been sent.
bool covers_remembered(const TransportParameters& now, const TransportParameters& remembered);

}  // namespace sheaf::quic
