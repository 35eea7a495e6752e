#include "http3/settings.h"

#include <algorithm>

namespace sheaf::http3 {
namespace {

constexpr std::uint64_t k_qpack_max_table_capacity = 0x01;
constexpr std::uint64_t k_max_field_section_size = 0x06;
constexpr std::uint64_t k_qpack_blocked_streams = 0x07;
constexpr std::uint64_t k_enable_connect_protocol = 0x08;
constexpr std::uint64_t k_datagrams = 0x33;
constexpr std::uint64_t k_webtransport_draft02 = 0x2b603742;
constexpr std::uint64_t k_webtransport_max_sessions_draft07 = 0xc671706a;
constexpr std::uint64_t k_webtransport_max_sessions_draft13 = 0x14e9cd29;
constexpr std::uint64_t k_webtransport_enabled_draft15 = 0x2c7cf000;
constexpr std::uint64_t k_webtransport_initial_max_data = 0x2b61;
constexpr std::uint64_t k_webtransport_initial_max_streams_unidirectional = 0x2b64;
constexpr std::uint64_t k_webtransport_initial_max_streams_bidirectional = 0x2b65;

// Returns true for a setting of HTTP/2 that must not appear (RFC 9114 §7.2.4.1).
bool reserved_by_http2(std::uint64_t identifier) {
  return identifier == 0 || (identifier >= 2 && identifier <= 5);
}

ConnectionStatus read_flag(std::uint64_t value, bool& flag) {
  if (value > 1) return ConnectionError{ErrorCode::kSettingsError, "setting is neither 0 nor 1"};
  flag = value == 1;
  return {};
}

void apply(std::uint64_t identifier, std::uint64_t value, WebTransportSettings& settings) {
  switch (identifier) {
    case k_webtransport_draft02:
      settings.draft02 = value > 0;
      break;
    case k_webtransport_max_sessions_draft07:
      settings.max_sessions_draft07 = value;
      break;
    case k_webtransport_max_sessions_draft13:
      settings.max_sessions_draft13 = value;
      break;
    case k_webtransport_enabled_draft15:
      settings.enabled_draft15 = value;
      break;
    case k_webtransport_initial_max_data:
    case k_webtransport_initial_max_streams_unidirectional:
    case k_webtransport_initial_max_streams_bidirectional:
      settings.flow_control = settings.flow_control || value > 0;
      break;
    default:
      break;
  }
}

ConnectionStatus apply(std::uint64_t identifier, std::uint64_t value, Settings& settings) {
  if (reserved_by_http2(identifier)) {
    return ConnectionError{ErrorCode::kSettingsError, "HTTP/2 setting"};
  }
  switch (identifier) {
    case k_qpack_max_table_capacity:
      settings.qpack_max_table_capacity = value;
      break;
    case k_qpack_blocked_streams:
      settings.qpack_blocked_streams = value;
      break;
    case k_max_field_section_size:
      settings.max_field_section_size = value;
      break;
    case k_enable_connect_protocol:
      return read_flag(value, settings.enable_connect_protocol);
    case k_datagrams:
      return read_flag(value, settings.datagrams);
    default:
      apply(identifier, value, settings.webtransport);
      break;
  }
  return {};
}

}  // namespace

std::vector<std::uint8_t> encode_settings(const Settings& settings, std::uint64_t grease) {
  std::vector<std::uint8_t> payload(128);
  quic::Writer writer(payload);
  const auto write = [&writer](std::uint64_t identifier, std::uint64_t value) {
    writer.write_varint(identifier);
    writer.write_varint(value);
  };
  write(k_qpack_max_table_capacity, settings.qpack_max_table_capacity);
  write(k_qpack_blocked_streams, settings.qpack_blocked_streams);
  if (settings.max_field_section_size != quic::k_max_varint) {
    write(k_max_field_section_size, settings.max_field_section_size);
  }
  if (settings.enable_connect_protocol) write(k_enable_connect_protocol, 1);
  if (settings.datagrams) write(k_datagrams, 1);
  const WebTransportSettings& webtransport = settings.webtransport;
  if (webtransport.draft02) write(k_webtransport_draft02, 1);
  if (webtransport.max_sessions_draft07 > 0) {
    write(k_webtransport_max_sessions_draft07, webtransport.max_sessions_draft07);
  }
  if (webtransport.max_sessions_draft13 > 0) {
    write(k_webtransport_max_sessions_draft13, webtransport.max_sessions_draft13);
  }
  if (webtransport.enabled_draft15 > 0) {
    write(k_webtransport_enabled_draft15, webtransport.enabled_draft15);
  }
  write(0x21 + 0x1f * (grease % 0xffffff), grease & 0xffff);
  payload.resize(writer.size());
  return payload;
}

quic::Result<Settings, ConnectionError> decode_settings(quic::Bytes payload) {
  Settings settings;
  std::vector<std::uint64_t> seen;
  quic::Reader reader(payload);
  while (!reader.empty()) {
    const std::uint64_t identifier = reader.read_varint();
    const std::uint64_t value = reader.read_varint();
    if (!reader.ok()) return ConnectionError{ErrorCode::kFrameError, "truncated SETTINGS"};
    if (auto status = apply(identifier, value, settings); !status) return status.error();
    seen.push_back(identifier);
  }
  // RFC 9114 §7.2.4: the same identifier must not occur more than once.
  std::sort(seen.begin(), seen.end());
  if (std::adjacent_find(seen.begin(), seen.end()) != seen.end()) {
    return ConnectionError{ErrorCode::kSettingsError, "duplicate setting"};
  }
  return settings;
}

}  // namespace sheaf::http3
