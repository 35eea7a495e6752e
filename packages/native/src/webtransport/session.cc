#include "webtransport/session.h"

#include "util/utf8.h"
#include "webtransport/error_code.h"

namespace sheaf::webtransport {
namespace {

constexpr std::uint64_t k_capsule_close = 0x2843;
constexpr std::uint64_t k_capsule_drain = 0x78ae;
// Capsules of flow control (draft-ietf-webtrans-http3-16 §5.6).
constexpr std::uint64_t k_capsule_max_data = 0x190b4d3d;
constexpr std::uint64_t k_capsule_max_streams_bidirectional = 0x190b4d3f;
constexpr std::uint64_t k_capsule_max_streams_unidirectional = 0x190b4d40;
constexpr std::uint64_t k_max_stream_count = std::uint64_t{1} << 60;
// Capsules that only WebTransport over HTTP/2 uses (§5.4).
constexpr std::uint64_t k_capsule_max_stream_data = 0x190b4d3e;
constexpr std::uint64_t k_capsule_stream_data_blocked = 0x190b4d42;

http3::ConnectionError malformed(std::string_view reason) {
  return {http3::ErrorCode::kMessageError, reason};
}

quic::Result<CloseInfo, http3::ConnectionError> decode_close(Bytes value) {
  quic::Reader reader(value);
  CloseInfo info;
  info.code = reader.read_u32();
  const Bytes reason = reader.read_rest();
  // A close capsule that is too short is malformed (RFC 9297 §3.3), although
  // draft-ietf-webtrans-http3-02 has no rule for it.
  if (!reader.ok()) return malformed("close capsule");
  info.reason.assign(reinterpret_cast<const char*>(reason.data()), reason.size());
  // draft-ietf-webtrans-http3-16 §6: the reason must be UTF-8.
  if (!quic::is_utf8(info.reason)) return malformed("reason of the close is not UTF-8");
  return info;
}

void append_limit(std::vector<std::uint8_t>& to, std::uint64_t type, std::uint64_t limit) {
  std::array<std::uint8_t, 8> value;
  quic::Writer writer(value);
  writer.write_varint(limit);
  const auto capsule = http3::encode_capsule({type, writer.written()});
  to.insert(to.end(), capsule.begin(), capsule.end());
}

}  // namespace

std::optional<http3::CapsuleRule> Session::rule_of(std::uint64_t type) {
  switch (type) {
    case k_capsule_close:
      return http3::CapsuleRule{4 + k_max_close_reason};
    case k_capsule_drain:
    case k_capsule_max_stream_data:
    case k_capsule_stream_data_blocked:
      return http3::CapsuleRule{16};
    case http3::k_capsule_datagram:
      return http3::k_datagram_rule;
    default:
      return std::nullopt;  // also flow control, which is never negotiated (draft 16 §5.1)
  }
}

quic::Result<std::optional<Session::Signal>, http3::ConnectionError> Session::read(Bytes& bytes) {
  // draft-ietf-webtrans-http3-02 §5: nothing may follow the close capsule.
  if (close_received_ && !bytes.empty()) return malformed("data after the close capsule");
  const auto next = capsules_.next(bytes);
  if (!next) return next.error();
  if (!*next) return std::optional<Signal>();
  Signal signal;
  switch ((*next)->type) {
    case k_capsule_drain:
      signal.draining = true;
      break;
    case http3::k_capsule_datagram:
      signal.datagram = (*next)->value;
      break;
    case k_capsule_close: {
      auto info = decode_close((*next)->value);
      if (!info) return info.error();
      close_received_ = true;
      signal.closed = std::move(*info);
      break;
    }
    default:
      return http3::ConnectionError{static_cast<http3::ErrorCode>(k_flow_control_error),
                                    "capsule of WebTransport over HTTP/2"};
  }
  return std::optional(std::move(signal));
}

std::vector<std::uint8_t> encode_close(const CloseInfo& info) {
  std::vector<std::uint8_t> value(4 + info.reason.size());
  quic::Writer writer(value);
  writer.write_u32(info.code);
  writer.write_bytes(
      {reinterpret_cast<const std::uint8_t*>(info.reason.data()), info.reason.size()});
  return http3::encode_capsule({k_capsule_close, value});
}

std::vector<std::uint8_t> encode_drain() { return http3::encode_capsule({k_capsule_drain, {}}); }

std::vector<std::uint8_t> encode_no_limits() {
  std::vector<std::uint8_t> capsules;
  append_limit(capsules, k_capsule_max_streams_bidirectional, k_max_stream_count);
  append_limit(capsules, k_capsule_max_streams_unidirectional, k_max_stream_count);
  append_limit(capsules, k_capsule_max_data, quic::k_max_varint);
  return capsules;
}

}  // namespace sheaf::webtransport
