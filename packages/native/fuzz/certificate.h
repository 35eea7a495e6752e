#pragma once

#include <gnutls/x509.h>

#include <cstdlib>
#include <ctime>
#include <string>

#include "crypto/tls_config.h"

namespace sheaf::quic {

// Returns a server context with a self-signed certificate that lives as long as the process.
inline std::shared_ptr<TlsContext> make_fuzz_server_context() {
  gnutls_x509_privkey_t key;
  gnutls_x509_crt_t certificate;
  gnutls_datum_t certificate_pem{};
  gnutls_datum_t key_pem{};
  gnutls_x509_privkey_init(&key);
  gnutls_x509_crt_init(&certificate);
  gnutls_x509_privkey_generate(key, GNUTLS_PK_ECDSA,
                               GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1), 0);
  gnutls_x509_crt_set_version(certificate, 3);
  gnutls_x509_crt_set_serial(certificate, "1", 1);
  gnutls_x509_crt_set_activation_time(certificate, std::time(nullptr));
  gnutls_x509_crt_set_expiration_time(certificate, std::time(nullptr) + 86400);
  gnutls_x509_crt_set_key(certificate, key);
  gnutls_x509_crt_sign2(certificate, certificate, key, GNUTLS_DIG_SHA256, 0);
  gnutls_x509_crt_export2(certificate, GNUTLS_X509_FMT_PEM, &certificate_pem);
  gnutls_x509_privkey_export2(key, GNUTLS_X509_FMT_PEM, &key_pem);
  TlsServerConfig config;
  config.certificate_pem.assign(reinterpret_cast<char*>(certificate_pem.data),
                                certificate_pem.size);
  config.private_key_pem.assign(reinterpret_cast<char*>(key_pem.data), key_pem.size);
  config.alpn = {"h3"};
  gnutls_free(certificate_pem.data);
  gnutls_free(key_pem.data);
  gnutls_x509_crt_deinit(certificate);
  gnutls_x509_privkey_deinit(key);
  auto context = make_tls_server_context(config);
  if (!context) std::abort();
  return *context;
}

}  // namespace sheaf::quic
