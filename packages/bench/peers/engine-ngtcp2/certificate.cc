#include "certificate.h"

#include <gnutls/x509.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>

namespace {

void require(int status, const char* what) {
  if (status >= 0) return;
  std::fprintf(stderr, "%s: %s\n", what, gnutls_strerror(status));
  std::exit(1);
}

}  // namespace

gnutls_certificate_credentials_t make_server_credentials() {
  gnutls_x509_privkey_t key;
  require(gnutls_x509_privkey_init(&key), "key");
  require(gnutls_x509_privkey_generate(key, GNUTLS_PK_ECDSA,
                                       GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1), 0),
          "key");
  gnutls_x509_crt_t certificate;
  require(gnutls_x509_crt_init(&certificate), "certificate");
  const std::time_t now = std::time(nullptr);
  const unsigned char serial = 1;
  gnutls_x509_crt_set_version(certificate, 3);
  gnutls_x509_crt_set_serial(certificate, &serial, sizeof(serial));
  gnutls_x509_crt_set_activation_time(certificate, now - 3600);
  gnutls_x509_crt_set_expiration_time(certificate, now + 24 * 3600);
  gnutls_x509_crt_set_dn_by_oid(certificate, GNUTLS_OID_X520_COMMON_NAME, 0, "localhost", 9);
  gnutls_x509_crt_set_key(certificate, key);
  require(gnutls_x509_crt_sign2(certificate, certificate, key, GNUTLS_DIG_SHA256, 0), "sign");

  gnutls_certificate_credentials_t credentials;
  require(gnutls_certificate_allocate_credentials(&credentials), "credentials");
  require(gnutls_certificate_set_x509_key(credentials, &certificate, 1, key), "credentials");
  gnutls_x509_crt_deinit(certificate);
  gnutls_x509_privkey_deinit(key);
  return credentials;
}
