#include "wire/transport_parameters.h"

#include <algorithm>

namespace sheaf::quic {
namespace {

// RFC 9000 §18.2, RFC 9221 §3, RFC 9287 §3, draft-ietf-quic-reliable-stream-reset-09 §3,
// RFC 10069 §3.
enum class ParameterId : std::uint64_t {
  kOriginalDestinationConnectionId = 0x00,
  kMaxIdleTimeout = 0x01,
  kStatelessResetToken = 0x02,
  kMaxUdpPayloadSize = 0x03,
  kInitialMaxData = 0x04,
  kInitialMaxStreamDataBidiLocal = 0x05,
  kInitialMaxStreamDataBidiRemote = 0x06,
  kInitialMaxStreamDataUni = 0x07,
  kInitialMaxStreamsBidi = 0x08,
  kInitialMaxStreamsUni = 0x09,
  kAckDelayExponent = 0x0a,
  kMaxAckDelay = 0x0b,
  kDisableActiveMigration = 0x0c,
  kPreferredAddress = 0x0d,
  kActiveConnectionIdLimit = 0x0e,
  kInitialSourceConnectionId = 0x0f,
  kRetrySourceConnectionId = 0x10,
  kMaxDatagramFrameSize = 0x20,
  kResetStreamAt = 0x1d,
  kInitialMaxPathId = 0x3e,
  kGreaseQuicBit = 0x2ab2,
  kMultiEnd = 0x5ea0,
  kTunnelReports = 0x5ea1,
  kReturnPaths = 0x5ea2,
  kFirstMinAckDelay = 0xff02de1a,             // draft-iyengar-quic-delayed-ack-02 §3
  kMinAckDelay = 0xff04de1b,                  // draft-ietf-quic-ack-frequency-11 §3
  kResetStreamAtOfDrafts = 0x17f7586d2cb571,  // until 1d was assigned, for the same frame
};

TransportError parameter_error(std::string reason) {
  return {TransportErrorCode::kTransportParameterError, 0, std::move(reason)};
}

// Bounds a duration. A peer may announce centuries, which would overflow; bounding them to a year
// makes no difference.
Duration milliseconds_up_to_a_year(std::uint64_t value) {
  constexpr std::chrono::milliseconds k_year = std::chrono::hours(24 * 365);
  return std::chrono::milliseconds(std::min<std::uint64_t>(value, k_year.count()));
}

Duration microseconds_up_to_a_year(std::uint64_t value) {
  constexpr std::chrono::microseconds k_year = std::chrono::hours(24 * 365);
  return std::chrono::microseconds(std::min<std::uint64_t>(value, k_year.count()));
}

template <std::size_t Size>
void read_array(Reader& reader, std::array<std::uint8_t, Size>& out) {
  const Bytes bytes = reader.read_bytes(Size);
  if (reader.ok()) std::ranges::copy(bytes, out.begin());
}

PreferredAddress read_preferred_address(Reader& value) {
  PreferredAddress address;
  read_array(value, address.ipv4);
  address.ipv4_port = value.read_u16();
  read_array(value, address.ipv6);
  address.ipv6_port = value.read_u16();
  const std::uint8_t length = value.read_u8();
  const Bytes id = value.read_bytes(length);
  if (length <= ConnectionId::k_max_length) address.id = ConnectionId(id);
  read_array(value, address.reset_token);
  return address;
}

// The same as `read_value`, for parameters of this product (docs/reference/wire.md)
const char* read_private_value(TransportParameters& out, ParameterId id, Reader& value) {
  if (id == ParameterId::kReturnPaths) {
    out.return_paths = value.read_varint();
    return nullptr;
  }
  out.multi_end = value.read_varint();
  return *out.multi_end == 0 ? "multi_end without a key mode" : nullptr;
}

// Reads one parameter's value. Returns the reason if it is out of range, or null.
const char* read_value(TransportParameters& out, ParameterId id, Reader& value) {
  switch (id) {
    case ParameterId::kMaxIdleTimeout:
      out.max_idle_timeout = milliseconds_up_to_a_year(value.read_varint());
      return nullptr;
    case ParameterId::kStatelessResetToken:
      read_array(value, out.stateless_reset_token.emplace());
      return nullptr;
    case ParameterId::kMaxUdpPayloadSize:
      out.max_udp_payload_size = value.read_varint();
      return out.max_udp_payload_size < 1200 ? "max_udp_payload_size below 1200" : nullptr;
    case ParameterId::kInitialMaxData:
      out.initial_max_data = value.read_varint();
      return nullptr;
    case ParameterId::kInitialMaxStreamDataBidiLocal:
      out.initial_max_stream_data_bidi_local = value.read_varint();
      return nullptr;
    case ParameterId::kInitialMaxStreamDataBidiRemote:
      out.initial_max_stream_data_bidi_remote = value.read_varint();
      return nullptr;
    case ParameterId::kInitialMaxStreamDataUni:
      out.initial_max_stream_data_uni = value.read_varint();
      return nullptr;
    case ParameterId::kInitialMaxStreamsBidi:
      out.initial_max_streams_bidi = value.read_varint();
      return out.initial_max_streams_bidi > k_max_streams ? "initial_max_streams_bidi above 2^60"
                                                          : nullptr;
    case ParameterId::kInitialMaxStreamsUni:
      out.initial_max_streams_uni = value.read_varint();
      return out.initial_max_streams_uni > k_max_streams ? "initial_max_streams_uni above 2^60"
                                                         : nullptr;
    case ParameterId::kAckDelayExponent: {
      const std::uint64_t exponent = value.read_varint();
      out.ack_delay_exponent = static_cast<std::uint8_t>(exponent);
      return exponent > 20 ? "ack_delay_exponent above 20" : nullptr;
    }
    case ParameterId::kMaxAckDelay: {
      const std::uint64_t milliseconds = value.read_varint();
      out.max_ack_delay = milliseconds_up_to_a_year(milliseconds);
      return milliseconds >= 1 << 14 ? "max_ack_delay of 2^14 or more" : nullptr;
    }
    case ParameterId::kMinAckDelay:
      out.min_ack_delay = microseconds_up_to_a_year(value.read_varint());
      return nullptr;
    case ParameterId::kFirstMinAckDelay:
      out.first_min_ack_delay = microseconds_up_to_a_year(value.read_varint());
      return nullptr;
    case ParameterId::kDisableActiveMigration:
      out.disable_active_migration = true;
      return nullptr;
    case ParameterId::kPreferredAddress:
      out.preferred_address = read_preferred_address(value);
      return out.preferred_address->id.length == 0 ? "bad connection id in preferred_address"
                                                   : nullptr;
    case ParameterId::kActiveConnectionIdLimit:
      out.active_connection_id_limit = value.read_varint();
      return out.active_connection_id_limit < 2 ? "active_connection_id_limit below 2" : nullptr;
    case ParameterId::kMaxDatagramFrameSize:
      out.max_datagram_frame_size = value.read_varint();
      return nullptr;
    case ParameterId::kInitialMaxPathId:
      out.initial_max_path_id = value.read_varint();
      return *out.initial_max_path_id > UINT32_MAX ? "initial_max_path_id above 2^32-1" : nullptr;
    case ParameterId::kMultiEnd:
    case ParameterId::kReturnPaths:
      return read_private_value(out, id, value);
    case ParameterId::kTunnelReports:
      out.tunnel_reports = true;
      return nullptr;
    case ParameterId::kResetStreamAt:
    case ParameterId::kResetStreamAtOfDrafts:
      out.reset_stream_at = true;
      return nullptr;
    case ParameterId::kGreaseQuicBit:
      out.grease_quic_bit = true;
      return nullptr;
    // The handshake compares these ids with those on the packets.
    case ParameterId::kOriginalDestinationConnectionId:
    case ParameterId::kInitialSourceConnectionId:
    case ParameterId::kRetrySourceConnectionId:
      return value.read_rest().size() > ConnectionId::k_max_length ? "connection id above 20 bytes"
                                                                   : nullptr;
  }
  value.read_rest();  // RFC 9000 §7.4.2: unknown parameters are ignored.
  return nullptr;
}

}  // namespace

Result<TransportParameters, TransportError> decode_transport_parameters(Bytes extension) {
  TransportParameters parameters;
  std::vector<std::uint64_t> seen;
  Reader reader{extension};
  while (!reader.empty()) {
    const std::uint64_t id = reader.read_varint();
    Reader value{reader.read_bytes(reader.read_varint())};
    if (!reader.ok()) return parameter_error("truncated transport parameters");
    const char* fault = read_value(parameters, static_cast<ParameterId>(id), value);
    if (!value.ok() || !value.empty()) {
      return parameter_error("transport parameter " + std::to_string(id) + " has a wrong length");
    }
    if (fault) return parameter_error(fault);
    seen.push_back(id);
  }
  // RFC 9000 §7.4: no parameter may come twice, including unknown ones.
  std::ranges::sort(seen);
  if (const auto twin = std::ranges::adjacent_find(seen); twin != seen.end()) {
    return parameter_error("transport parameter " + std::to_string(*twin) + " comes twice");
  }
  // draft-ietf-quic-ack-frequency-11 §3.
  if (parameters.min_ack_delay.value_or(Duration::zero()) > parameters.max_ack_delay) {
    return parameter_error("min_ack_delay above max_ack_delay");
  }
  // Nobody is to be closed for a draft that has expired.
  if (parameters.first_min_ack_delay.value_or(Duration::zero()) > parameters.max_ack_delay) {
    parameters.first_min_ack_delay.reset();
  }
  // Backends are reached over paths (docs/reference/wire.md).
  if (parameters.multi_end && !parameters.initial_max_path_id) {
    return parameter_error("multi_end without initial_max_path_id");
  }
  // Others may use this number for something else, so nobody is closed for a value of their own.
  const std::uint64_t return_paths = parameters.return_paths.value_or(0);
  if (return_paths == 0 || return_paths > k_max_return_paths || !parameters.initial_max_path_id) {
    parameters.return_paths.reset();
  }
  return parameters;
}

void append_extension_parameters(std::vector<std::uint8_t>& out,
                                 const TransportParameters& parameters) {
  const auto append = [&out](ParameterId id, const std::optional<std::uint64_t>& value) {
    std::array<std::uint8_t, 3 * 8> buffer;
    Writer writer{buffer};
    writer.write_varint(static_cast<std::uint64_t>(id));
    writer.write_varint(value ? varint_size(*value) : 0);
    if (value) writer.write_varint(*value);
    const MutableBytes written = writer.written();
    out.insert(out.end(), written.begin(), written.end());
  };
  if (parameters.tunnel_reports) append(ParameterId::kTunnelReports, std::nullopt);
  if (parameters.reset_stream_at) {
    append(ParameterId::kResetStreamAt, std::nullopt);
    append(ParameterId::kResetStreamAtOfDrafts, std::nullopt);
  }
  const auto append_delay = [&](ParameterId id, const std::optional<Duration>& delay) {
    if (!delay) return;
    append(id, std::chrono::duration_cast<std::chrono::microseconds>(*delay).count());
  };
  append_delay(ParameterId::kMinAckDelay, parameters.min_ack_delay);
  append_delay(ParameterId::kFirstMinAckDelay, parameters.first_min_ack_delay);
  if (parameters.initial_max_path_id) {
    append(ParameterId::kInitialMaxPathId, parameters.initial_max_path_id);
  }
  if (parameters.multi_end) append(ParameterId::kMultiEnd, parameters.multi_end);
  if (parameters.return_paths) append(ParameterId::kReturnPaths, parameters.return_paths);
}

}  // namespace sheaf::quic
