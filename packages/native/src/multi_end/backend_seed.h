#pragma once

#include <vector>

#include "connection/config.h"
#include "connection/connection_ids.h"
#include "crypto/path_hand_over.h"
#include "stream/stream_set_config.h"
#include "wire/frame.h"
#include "wire/transport_parameters.h"

namespace sheaf::quic {

// Everything that a server needs to take part in a connection at one path, and no more
// (docs/internals/multi-end.md). multi_end/connection_snapshot encodes it.
struct BackendSeed {
  BackendId backend;
  PathHandOver keys;  // with the path that they are for

  std::vector<LocalConnectionIds::Issued> local_ids;  // that the client sends to
  std::vector<NewConnectionIdFrame> remote_ids;       // that the client issued for this path

  // The client's parameters, without credit of the connection and of streams, which the lease
  // brings.
  TransportParameters peer_parameters;
  StreamLease lease;

  // Values that the primary announced to the client, and that bind the backend
  std::uint64_t initial_stream_window = 0;
  std::uint64_t max_connection_window = 0;
  std::uint64_t max_bidirectional_streams = 0;
  std::uint64_t active_connection_id_limit = 2;
  Duration max_idle_timeout = Duration::zero();
  Duration max_ack_delay = Duration::zero();
  std::uint8_t ack_delay_exponent = 3;

  // Returns the backend's own configuration with these values.
  ConnectionConfig adapt(ConnectionConfig own) const;
};

}  // namespace sheaf::quic
