#include "crypto/post_handshake.h"

#include "crypto/handshake_failure.h"

namespace sheaf::quic {
namespace {

constexpr std::uint8_t k_new_session_ticket = 4;  // RFC 8446 §4
constexpr std::uint16_t k_early_data_extension = 42;
constexpr std::uint32_t k_quic_early_data_size = 0xffffffff;
constexpr std::size_t k_message_header = 4;
constexpr std::size_t k_max_message = 65536;

TransportError error(TransportErrorCode code, std::string reason) {
  return {.code = code, .frame_type = 0x06, .reason = std::move(reason)};
}

TransportError malformed() {
  return error(crypto_error(GNUTLS_A_DECODE_ERROR), "the session ticket is malformed");
}

// Returns whether the ticket allows early data (RFC 8446 §4.6.1), which GnuTLS does not tell.
Result<bool, TransportError> allows_early_data(Bytes message) {
  Reader reader{message.subspan(k_message_header)};
  reader.read_bytes(8);                  // lifetime, age_add
  reader.read_bytes(reader.read_u8());   // nonce
  reader.read_bytes(reader.read_u16());  // ticket
  Reader extensions{reader.read_bytes(reader.read_u16())};
  if (!reader.ok() || !reader.empty()) return malformed();
  bool allowed = false;
  while (!extensions.empty()) {
    const std::uint16_t type = extensions.read_u16();
    Reader body{extensions.read_bytes(extensions.read_u16())};
    if (!extensions.ok()) return malformed();
    if (type != k_early_data_extension) continue;
    // RFC 9001 §4.6.1: no other value is allowed.
    if (body.read_u32() != k_quic_early_data_size) {
      return error(TransportErrorCode::kProtocolViolation, "the ticket limits early data");
    }
    allowed = true;
  }
  return allowed;
}

}  // namespace

TransportError unexpected_post_handshake() {
  return error(crypto_error(GNUTLS_A_UNEXPECTED_MESSAGE), "TLS message at the wrong time");
}

TransportStatus PostHandshakeReader::read(Bytes data, TlsSession& tls) {
  std::vector<std::uint8_t>& buffer = incomplete_;
  buffer.insert(buffer.end(), data.begin(), data.end());
  while (buffer.size() >= k_message_header) {
    // RFC 9001 §6 forbids KeyUpdate, and §4.4 forbids client authentication after the handshake. No
    // other message is left.
    if (buffer[0] != k_new_session_ticket) {
      return error(crypto_error(GNUTLS_A_UNEXPECTED_MESSAGE), "unexpected TLS message");
    }
    const std::size_t length =
        k_message_header + (std::size_t{buffer[1]} << 16 | std::size_t{buffer[2]} << 8 | buffer[3]);
    if (length > k_max_message) {
      return error(TransportErrorCode::kCryptoBufferExceeded, "TLS message is too long");
    }
    if (buffer.size() < length) break;
    if (auto status = read_ticket({buffer.data(), length}, tls); !status) return status;
    buffer.erase(buffer.begin(), buffer.begin() + static_cast<std::ptrdiff_t>(length));
  }
  return {};
}

TransportStatus PostHandshakeReader::read_ticket(Bytes message, TlsSession& tls) {
  const auto early_data = allows_early_data(message);
  if (!early_data) return early_data.error();
  early_data_ = *early_data;
  if (tls.receive_ticket(message)) return {};
  const HandshakeFailure refused = failure_from_tls(tls.failure());
  return error(refused.code, refused.reason);
}

}  // namespace sheaf::quic
