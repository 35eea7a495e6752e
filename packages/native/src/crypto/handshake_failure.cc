#include "crypto/handshake_failure.h"

#include <algorithm>

namespace sheaf::quic {
namespace {

constexpr std::uint64_t k_alert_base =
    static_cast<std::uint64_t>(TransportErrorCode::kCryptoErrorBase);

struct Sentence {
  std::uint64_t alert;
  const char* text;
};

// Meanings of TLS alerts (RFC 8446 §6.2), from the reader's point of view
constexpr Sentence k_sentences[] = {
    {GNUTLS_A_HANDSHAKE_FAILURE, "no cipher suite or key exchange in common"},
    {GNUTLS_A_BAD_CERTIFICATE, "it does not accept the certificate"},
    {GNUTLS_A_CERTIFICATE_EXPIRED, "it finds the certificate expired"},
    {GNUTLS_A_CERTIFICATE_UNKNOWN, "it does not accept the certificate"},
    {GNUTLS_A_UNKNOWN_CA, "it does not know the certificate's authority"},
    {GNUTLS_A_PROTOCOL_VERSION, "it does not speak TLS 1.3"},
    {GNUTLS_A_MISSING_EXTENSION, "it misses a TLS extension"},
    {GNUTLS_A_UNRECOGNIZED_NAME, "it does not know the server name"},
    {GNUTLS_A_CERTIFICATE_REQUIRED, "it wants a client certificate"},
    {GNUTLS_A_NO_APPLICATION_PROTOCOL, "no application protocol in common"},
};

std::string describe_code(std::uint64_t code) {
  if (code < k_alert_base || code > k_alert_base + 0xff) {
    return to_string(static_cast<TransportErrorCode>(code));
  }
  const std::uint64_t alert = code - k_alert_base;
  for (const Sentence& sentence : k_sentences) {
    if (sentence.alert == alert) return sentence.text;
  }
  const char* name = gnutls_alert_get_name(static_cast<gnutls_alert_description_t>(alert));
  return name != nullptr ? name : "TLS alert " + std::to_string(alert);
}

// Makes text from the peer printable, since it goes to logs and terminals.
std::string printable(Bytes text) {
  constexpr std::size_t k_max_length = 128;
  std::string result(text.begin(), text.begin() + std::min(text.size(), k_max_length));
  std::replace_if(
      result.begin(), result.end(), [](char c) { return c < 0x20 || c > 0x7e; }, '?');
  return result;
}

}  // namespace

TransportErrorCode crypto_error(std::uint8_t alert) {
  return static_cast<TransportErrorCode>(k_alert_base + alert);
}

HandshakeFailure failure_from_tls(const TlsFailure& failure) {
  return {.code = crypto_error(static_cast<std::uint8_t>(failure.alert)), .reason = failure.reason};
}

HandshakeFailure failure_from_ngtcp2(int error) {
  switch (error) {
    case NGTCP2_ERR_DROP_CONN:
      return {.code = TransportErrorCode::kNoError,
              .reason = "no packet of the attempt can be read",
              .silent = true};
    case NGTCP2_ERR_HANDSHAKE_TIMEOUT:
    case NGTCP2_ERR_IDLE_CLOSE:
      return {.code = TransportErrorCode::kNoError,
              .reason = "the handshake took too long",
              .timeout = true};
    case NGTCP2_ERR_RECV_VERSION_NEGOTIATION:
      return {.code = TransportErrorCode::kVersionNegotiationError,
              .reason = "the server does not speak this version of QUIC",
              .version_mismatch = true};
    default:
      return {.code = static_cast<TransportErrorCode>(
                  ngtcp2_err_infer_quic_transport_error_code(error)),
              .reason = ngtcp2_strerror(error)};
  }
}

HandshakeFailure failure_from_peer(const ngtcp2_ccerr& close) {
  const bool application = close.type == NGTCP2_CCERR_TYPE_APPLICATION;
  HandshakeFailure failure{.code = application ? TransportErrorCode::kApplicationError
                                               : static_cast<TransportErrorCode>(close.error_code),
                           .reason = "the peer closed the connection: ",
                           .by_peer = true};
  failure.reason += application ? "application error " + std::to_string(close.error_code)
                                : describe_code(close.error_code);
  const std::string words = printable({close.reason, close.reasonlen});
  if (!words.empty()) failure.reason += " (" + words + ")";
  return failure;
}

}  // namespace sheaf::quic
