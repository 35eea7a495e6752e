#include "crypto/handshake_parameters.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cstring>

namespace sheaf::quic {
namespace {

// Limits that a server may raise but not lower when it accepts 0-RTT (RFC 9000 §7.4.1, RFC 9221 §3)
constexpr std::uint64_t TransportParameters::*k_remembered[] = {
    &TransportParameters::initial_max_data,
    &TransportParameters::initial_max_stream_data_bidi_local,
    &TransportParameters::initial_max_stream_data_bidi_remote,
    &TransportParameters::initial_max_stream_data_uni,
    &TransportParameters::initial_max_streams_bidi,
    &TransportParameters::initial_max_streams_uni,
    &TransportParameters::active_connection_id_limit,
    &TransportParameters::max_datagram_frame_size,
};

void set_preferred_address(ngtcp2_transport_params& out, const PreferredAddress& address) {
  ngtcp2_preferred_addr& preferred = out.preferred_addr;
  out.preferred_addr_present = 1;
  preferred.cid = to_ngtcp2(address.id);
  std::copy(address.reset_token.begin(), address.reset_token.end(),
            preferred.stateless_reset_token);
  if (address.ipv4_port != 0) {
    preferred.ipv4_present = 1;
    preferred.ipv4.sin_family = AF_INET;
    preferred.ipv4.sin_port = htons(address.ipv4_port);
    std::memcpy(&preferred.ipv4.sin_addr, address.ipv4.data(), address.ipv4.size());
  }
  if (address.ipv6_port != 0) {
    preferred.ipv6_present = 1;
    preferred.ipv6.sin6_family = AF_INET6;
    preferred.ipv6.sin6_port = htons(address.ipv6_port);
    std::memcpy(&preferred.ipv6.sin6_addr, address.ipv6.data(), address.ipv6.size());
  }
}

}  // namespace

ngtcp2_transport_params to_ngtcp2(const TransportParameters& parameters, Role role) {
  ngtcp2_transport_params out;
  ngtcp2_transport_params_default(&out);
  out.max_idle_timeout = static_cast<ngtcp2_duration>(parameters.max_idle_timeout.count());
  out.max_udp_payload_size = parameters.max_udp_payload_size;
  out.initial_max_data = parameters.initial_max_data;
  out.initial_max_stream_data_bidi_local = parameters.initial_max_stream_data_bidi_local;
  out.initial_max_stream_data_bidi_remote = parameters.initial_max_stream_data_bidi_remote;
  out.initial_max_stream_data_uni = parameters.initial_max_stream_data_uni;
  out.initial_max_streams_bidi = parameters.initial_max_streams_bidi;
  out.initial_max_streams_uni = parameters.initial_max_streams_uni;
  out.ack_delay_exponent = parameters.ack_delay_exponent;
  out.max_ack_delay = static_cast<ngtcp2_duration>(parameters.max_ack_delay.count());
  out.disable_active_migration = parameters.disable_active_migration ? 1 : 0;
  out.active_connection_id_limit = parameters.active_connection_id_limit;
  out.max_datagram_frame_size = parameters.max_datagram_frame_size;
  out.grease_quic_bit = parameters.grease_quic_bit ? 1 : 0;
  if (role == Role::kClient) return out;  // only a server sends the others (RFC 9000 §18.2)
  if (parameters.preferred_address) set_preferred_address(out, *parameters.preferred_address);
  if (parameters.stateless_reset_token) {
    out.stateless_reset_token_present = 1;
    std::copy(parameters.stateless_reset_token->begin(), parameters.stateless_reset_token->end(),
              out.stateless_reset_token);
  }
  return out;
}

std::vector<std::uint8_t> encode_remembered(const TransportParameters& parameters,
                                            std::uint32_t version) {
  std::vector<std::uint8_t> out(4 + 8 * (std::size(k_remembered) + 1));
  Writer writer{out};
  writer.write_u32(version);
  for (const auto member : k_remembered) writer.write_varint(parameters.*member, 8);
  writer.write_varint(parameters.disable_active_migration ? 1 : 0, 8);
  return out;
}

bool covers_remembered(const TransportParameters& now, const TransportParameters& remembered) {
  return std::all_of(std::begin(k_remembered), std::end(k_remembered),
                     [&](auto member) { return now.*member >= remembered.*member; });
}

}  // namespace sheaf::quic
