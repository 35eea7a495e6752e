#pragma once

#include "connection/config.h"
#include "util/address.h"

namespace sheaf::quic::engine_bench {

inline constexpr std::uint16_t k_packet_size = 1350;
inline constexpr std::size_t k_batch_packets = 32;
inline constexpr std::size_t k_packets_per_ack = 2;

// Returns the configuration of both sides: windows that never bind, packets of one size, and
// acknowledgements that nobody makes rarer.
inline ConnectionConfig connection_config(CryptoProvider provider) {
  constexpr std::uint64_t k_window = std::uint64_t{1} << 40;
  ConnectionConfig config;
  config.crypto = provider;
  config.streams.initial_connection_window = k_window;
  config.streams.max_connection_window = k_window;
  config.streams.initial_stream_window = k_window;
  config.streams.max_stream_window = k_window;
  config.congestion.algorithm = CongestionAlgorithm::kNone;
  config.take_ack_frequency = false;
  config.initial_udp_payload_size = k_packet_size;
  config.max_udp_payload_size = k_packet_size;
  config.discover_mtu = false;
  return config;
}

inline Address loopback(std::uint16_t port) {
  return {.ip = {127, 0, 0, 1}, .port = port, .family = Address::Family::kIpv4};
}

}  // namespace sheaf::quic::engine_bench
