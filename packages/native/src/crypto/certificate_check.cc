#include "crypto/certificate_check.h"

#include <gnutls/abstract.h>
#include <gnutls/crypto.h>
#include <gnutls/x509.h>

#include <algorithm>
#include <ctime>

namespace sheaf::quic {
namespace {

struct StatusMeaning {
  unsigned bit;
  gnutls_alert_description_t alert;
  const char* reason;
};

// The first meaning that applies is reported.
constexpr StatusMeaning k_meanings[] = {
    {GNUTLS_CERT_REVOKED, GNUTLS_A_CERTIFICATE_REVOKED, "certificate is revoked"},
    {GNUTLS_CERT_EXPIRED, GNUTLS_A_CERTIFICATE_EXPIRED, "certificate has expired"},
    {GNUTLS_CERT_NOT_ACTIVATED, GNUTLS_A_CERTIFICATE_EXPIRED, "certificate is not valid yet"},
    {GNUTLS_CERT_SIGNER_NOT_FOUND, GNUTLS_A_UNKNOWN_CA,
     "certificate is signed by an unknown authority"},
    {GNUTLS_CERT_SIGNER_NOT_CA, GNUTLS_A_UNKNOWN_CA,
     "certificate is signed by one that is not an authority"},
    {GNUTLS_CERT_UNEXPECTED_OWNER, GNUTLS_A_BAD_CERTIFICATE, "certificate is for another name"},
};

TlsFailure describe(unsigned status) {
  for (const StatusMeaning& meaning : k_meanings) {
    if ((status & meaning.bit) != 0) return {meaning.alert, meaning.reason};
  }
  TlsFailure failure{GNUTLS_A_BAD_CERTIFICATE, "certificate is not trusted"};
  gnutls_datum_t text{};
  if (gnutls_certificate_verification_status_print(status, GNUTLS_CRT_X509, &text, 0) == 0) {
    failure.reason.append(": ").append(reinterpret_cast<char*>(text.data), text.size);
    gnutls_free(text.data);
  }
  return failure;
}

using Hash = std::array<std::uint8_t, 32>;

bool contains(const std::vector<Hash>& hashes, const gnutls_datum_t& hashed) {
  Hash hash{};
  gnutls_hash_fast(GNUTLS_DIG_SHA256, hashed.data, hashed.size, hash.data());
  return std::find(hashes.begin(), hashes.end(), hash) != hashes.end();
}

bool has_public_key(gnutls_x509_crt_t certificate, const std::vector<Hash>& hashes) {
  if (hashes.empty()) return false;
  gnutls_pubkey_t key = nullptr;
  gnutls_datum_t encoded{};
  gnutls_pubkey_init(&key);
  const bool read = gnutls_pubkey_import_x509(key, certificate, 0) == 0 &&
                    gnutls_pubkey_export2(key, GNUTLS_X509_FMT_DER, &encoded) == 0;
  const bool found = read && contains(hashes, encoded);
  gnutls_free(encoded.data);
  gnutls_pubkey_deinit(key);
  return found;
}

std::optional<TlsFailure> check_lifetime(gnutls_x509_crt_t certificate) {
  const time_t now = std::time(nullptr);
  if (now > gnutls_x509_crt_get_expiration_time(certificate)) {
    return describe(GNUTLS_CERT_EXPIRED);
  }
  if (now < gnutls_x509_crt_get_activation_time(certificate)) {
    return describe(GNUTLS_CERT_NOT_ACTIVATED);
  }
  return std::nullopt;
}

std::optional<TlsFailure> check_pinned(const gnutls_datum_t& leaf, gnutls_x509_crt_t certificate,
                                       const TlsContext& context) {
  if (!contains(context.certificate_hashes(), leaf) &&
      !has_public_key(certificate, context.public_key_hashes())) {
    return TlsFailure{GNUTLS_A_BAD_CERTIFICATE,
                      "certificate does not have one of the expected hashes"};
  }
  return check_lifetime(certificate);
}

std::optional<TlsFailure> check_hash(gnutls_session_t session, const TlsContext& context) {
  unsigned count = 0;
  const gnutls_datum_t* leaf = gnutls_certificate_get_peers(session, &count);
  if (leaf == nullptr || count == 0) {
    return TlsFailure{GNUTLS_A_BAD_CERTIFICATE, "the server has no certificate"};
  }
  gnutls_x509_crt_t certificate = nullptr;
  gnutls_x509_crt_init(&certificate);
  const int imported = gnutls_x509_crt_import(certificate, leaf, GNUTLS_X509_FMT_DER);
  auto failure = imported < 0 ? TlsFailure{GNUTLS_A_BAD_CERTIFICATE, "certificate cannot be read"}
                              : check_pinned(*leaf, certificate, context);
  gnutls_x509_crt_deinit(certificate);
  return failure;
}

}  // namespace

std::optional<TlsFailure> check_certificate(gnutls_session_t session, const TlsContext& context,
                                            const std::string& server_name) {
  if (context.insecure()) return std::nullopt;
  if (context.pinned()) return check_hash(session, context);
  unsigned status = 0;
  // A host name that is an IP address is compared with the certificate's IP addresses.
  const int result = gnutls_certificate_verify_peers3(session, server_name.c_str(), &status);
  if (result < 0) return TlsFailure{GNUTLS_A_BAD_CERTIFICATE, gnutls_strerror(result)};
  if (status != 0) return describe(status);
  return std::nullopt;
}

}  // namespace sheaf::quic
