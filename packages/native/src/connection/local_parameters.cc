#include "connection/local_parameters.h"

#include <algorithm>

#include "connection/path_policy.h"
#include "connection/path_table.h"
#include "recovery/rtt_estimator.h"

namespace sheaf::quic {

Duration min_ack_delay(const ConnectionConfig& config) {
  return std::min<Duration>(k_timer_granularity, config.max_ack_delay);
}

TransportParameters local_parameters(const ConnectionConfig& config) {
  TransportParameters parameters;
  parameters.max_idle_timeout = config.max_idle_timeout;
  parameters.max_udp_payload_size = config.accepted_udp_payload_size;
  parameters.ack_delay_exponent = config.ack_delay_exponent;
  parameters.max_ack_delay = config.max_ack_delay;
  if (config.take_ack_frequency) parameters.min_ack_delay = min_ack_delay(config);
  parameters.disable_active_migration = config.disable_active_migration;
  parameters.active_connection_id_limit = config.active_connection_id_limit;
  parameters.max_datagram_frame_size = config.max_datagram_frame_size;
  parameters.grease_quic_bit = true;
  parameters.reset_stream_at = true;
  parameters.tunnel_reports = config.follow_tunnel_reports;
  if (!config.multipath) return parameters;
  parameters.initial_max_path_id = PathIds::k_max_concurrent - 1;
  if (config.path_policy) config.path_policy->offer(parameters);
  return parameters;
}

}  // namespace sheaf::quic
