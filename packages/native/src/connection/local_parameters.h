#pragma once

#include "connection/config.h"
#include "wire/transport_parameters.h"

namespace sheaf::quic {

// The transport parameters that a connection with this configuration announces, without those of
// streams, connection ids and the handshake.
TransportParameters local_parameters(const ConnectionConfig& config);

}  // namespace sheaf::quic
