#include "webtransport/session.h"

namespace sheaf::webtransport {
namespace {

constexpr std::uint64_t k_capsule_close = 0x2843;
constexpr std::uint64_t k_capsule_drain = 0x78ae;

}  // namespace

bool Session::is_known(std::uint64_t type) {
  return type == k_capsule_close || type == k_capsule_drain;
}

quic::Result<std::optional<Session::Signal>, http3::ConnectionError> Session::read(Bytes& bytes) {
  // draft-ietf-webtrans-http3-02 §5: nothing may follow the close capsule.
  if (close_received_ && !bytes.empty()) {
    return http3::ConnectionError{http3::ErrorCode::kMessageError, "data after the close capsule"};
  }
  const auto next = capsules_.next(bytes);
  if (!next) return next.error();
  if (!*next) return std::optional<Signal>();
  Signal signal;
  if ((*next)->type == k_capsule_drain) {
    signal.draining = true;
    return std::optional(signal);
  }
  quic::Reader reader((*next)->value);
  CloseInfo info;
  info.code = reader.read_u32();
  const Bytes reason = reader.read_rest();
  // draft-ietf-webtrans-http3-02 has no rule for a short one; it is malformed (RFC 9297 §3.3).
  if (!reader.ok()) {
    return http3::ConnectionError{http3::ErrorCode::kMessageError, "close capsule"};
  }
  info.reason.assign(reinterpret_cast<const char*>(reason.data()), reason.size());
  close_received_ = true;
  signal.closed = std::move(info);
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

}  // namespace sheaf::webtransport
