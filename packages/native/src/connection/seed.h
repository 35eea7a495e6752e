#pragma once

#include <optional>

#include "crypto/traffic_secret.h"
#include "util/address.h"
#include "wire/transport_parameters.h"
#include "wire/types.h"

namespace sheaf::quic {

// The input from which a connection is made (docs/decisions/0002-connection-seed.md): the result of
// a handshake here, a connection that another server hands over, or a group key. Without one of the
// secrets the connection cannot send or cannot receive.
struct ConnectionSeed {
  std::optional<TrafficSecret> send_secret;
  std::optional<TrafficSecret> receive_secret;
  TransportParameters peer_parameters;
  ConnectionId local_id;   // sequence 0 of ours
  ConnectionId remote_id;  // sequence 0 of the peer's
  AddressPair path;
  Duration initial_rtt = Duration::zero();  // zero: not measured
  bool address_validated = true;
};

}  // namespace sheaf::quic
