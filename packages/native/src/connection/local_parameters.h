#pragma once

#include "connection/config.h"
#include "wire/transport_parameters.h"

namespace sheaf::quic {

// The transport parameters that a connection with this configuration announces, without those of
// streams, connection ids and the handshake.
TransportParameters local_parameters(const ConnectionConfig& config);
// Returns the shortest delay of acknowledgements that this side agrees to.
Duration min_ack_delay(const ConnectionConfig& config);

}  // namespace sheaf::quic
