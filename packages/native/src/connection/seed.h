#pragma once

#include <optional>

#include "crypto/traffic_secret.h"
#include "util/address.h"
#include "wire/transport_parameters.h"
#include "wire/types.h"

namespace sheaf::quic {

// All that a connection is made of (docs/decisions/0002-connection-seed.md): it comes from a
// handshake here, from another server that hands a connection over, or from a group key. A missing
// secret makes a connection that cannot send or cannot receive.
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
