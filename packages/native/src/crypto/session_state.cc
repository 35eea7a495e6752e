#include "crypto/session_state.h"

namespace sheaf::quic {
namespace {

constexpr std::uint8_t k_format = 1;
constexpr std::uint64_t k_max_field = 65535;  // a TLS ticket is at most that long

Bytes view(const std::string& text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

}  // namespace

std::vector<std::uint8_t> serialize(const SessionState& session) {
  const Bytes fields[] = {session.tls_session, session.peer_parameters, session.token,
                          view(session.alpn)};
  std::size_t size = 1 + 4;
  for (const Bytes field : fields) size += varint_size(field.size()) + field.size();
  std::vector<std::uint8_t> out(size);
  Writer writer{out};
  writer.write_u8(k_format);
  writer.write_u32(session.version);
  for (const Bytes field : fields) {
    writer.write_varint(field.size());
    writer.write_bytes(field);
  }
  return out;
}

std::optional<SessionState> parse_session_state(Bytes bytes) {
  Reader reader{bytes};
  if (reader.read_u8() != k_format) return std::nullopt;
  SessionState session;
  session.version = reader.read_u32();
  Bytes fields[4];
  for (Bytes& field : fields) {
    const std::uint64_t length = reader.read_varint();
    if (length > k_max_field) return std::nullopt;
    field = reader.read_bytes(length);
  }
  if (!reader.ok() || !reader.empty()) return std::nullopt;
  session.tls_session.assign(fields[0].begin(), fields[0].end());
  session.peer_parameters.assign(fields[1].begin(), fields[1].end());
  session.token.assign(fields[2].begin(), fields[2].end());
  session.alpn.assign(fields[3].begin(), fields[3].end());
  return session;
}

}  // namespace sheaf::quic
