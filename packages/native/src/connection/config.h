#pragma once

#include "congestion/controller.h"
#include "crypto/packet_protection.h"
#include "scheduler/path/path_scheduler.h"
#include "stream/stream_set_config.h"
#include "util/time.h"

namespace sheaf::quic {

class PathPolicyFactory;

struct ConnectionConfig {
  StreamSetConfig streams;
  CongestionConfig congestion;
  // Offers multipath (RFC 10069 §2.1), which is used when the peer offers it too.
  bool multipath = true;
  // Offers an extension that makes some paths different (connection/path_policy.h); needs
  // multipath. Null: every path is ordinary. Outlives the connection.
  const PathPolicyFactory* path_policy = nullptr;
  PathSchedulerKind path_scheduler = PathSchedulerKind::kEcf;
  // Repeats data that would arrive late at the end of a transfer on another path
  // (connection/retransmission.h).
  bool repeat_late = true;
  Duration max_idle_timeout = std::chrono::seconds(30);
  Duration keep_alive = Duration::zero();  // zero: none
  // Upper bound of the time between probes, where the policy does not name a shorter one
  // (docs/decisions/0006).
  Duration longest_probe_wait = Duration::max();
  std::uint64_t max_datagram_frame_size = 65535;
  std::uint64_t active_connection_id_limit = 4;
  std::uint8_t ack_delay_exponent = 3;
  Duration max_ack_delay = std::chrono::milliseconds(25);
  // Announces that the peer may choose how often this side acknowledges. Benchmarks compare
  // libraries at one frequency.
  bool take_ack_frequency = true;
  std::uint16_t initial_udp_payload_size = 1200;    // until MTU discovery found more
  std::uint16_t first_datagram_size = 1200;         // of a client's handshake
  std::uint16_t max_udp_payload_size = 1452;        // upper end of MTU discovery
  std::uint16_t accepted_udp_payload_size = 65527;  // of the peer
  bool discover_mtu = true;
  bool use_ecn = true;
  bool disable_active_migration = false;
  // Announces that this side follows reports of the peer about a tunnel that carries the connection
  // (connection/tunnel_reports.h).
  bool follow_tunnel_reports = false;
  CryptoProvider crypto = CryptoProvider::kAutomatic;
  // Bounds the 1-RTT packets that wait for the client's Finished, in bytes.
  std::size_t max_held_bytes = 24 << 10;
  std::size_t datagram_queue_limit = 512 << 10;  // bytes of datagrams that wait, each way
};

}  // namespace sheaf::quic
