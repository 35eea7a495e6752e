#include "multi_end/backend_seed.h"

#include <algorithm>

namespace sheaf::quic {

ConnectionConfig BackendSeed::adapt(ConnectionConfig own) const {
  own.multipath = true;
  own.path_policy = nullptr;
  own.streams.initial_stream_window = initial_stream_window;
  own.streams.max_stream_window = std::max(own.streams.max_stream_window, initial_stream_window);
  own.streams.max_bidirectional_streams = max_bidirectional_streams;
  // The client may send here all that it may send at all (docs/internals/multi-end.md).
  own.streams.initial_connection_window = own.streams.max_connection_window = max_connection_window;
  own.active_connection_id_limit = active_connection_id_limit;
  own.max_idle_timeout = max_idle_timeout;
  own.max_ack_delay = max_ack_delay;
  own.ack_delay_exponent = ack_delay_exponent;
  own.max_datagram_frame_size = 0;
  return own;
}

}  // namespace sheaf::quic
