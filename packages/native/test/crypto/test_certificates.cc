#include "crypto/test_certificates.h"

#include <arpa/inet.h>
#include <gnutls/abstract.h>
#include <gnutls/crypto.h>
#include <gnutls/x509.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>

namespace sheaf::quic {
namespace {

void require(int result) {
  if (result >= 0) return;
  std::fprintf(stderr, "certificate: %s\n", gnutls_strerror(result));
  std::abort();
}

struct Key {
  gnutls_x509_privkey_t key = nullptr;
  explicit Key(bool rsa) {
    require(gnutls_x509_privkey_init(&key));
    const auto algorithm = rsa ? GNUTLS_PK_RSA : GNUTLS_PK_ECDSA;
    const unsigned bits = rsa ? 2048 : GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1);
    require(gnutls_x509_privkey_generate(key, algorithm, bits, 0));
  }
  Key(const Key&) = delete;
  Key& operator=(const Key&) = delete;
  ~Key() { gnutls_x509_privkey_deinit(key); }
};

struct Certificate {
  gnutls_x509_crt_t certificate = nullptr;
  Certificate() { require(gnutls_x509_crt_init(&certificate)); }
  Certificate(const Certificate&) = delete;
  Certificate& operator=(const Certificate&) = delete;
  ~Certificate() { gnutls_x509_crt_deinit(certificate); }

  std::string pem() const {
    gnutls_datum_t data{};
    require(gnutls_x509_crt_export2(certificate, GNUTLS_X509_FMT_PEM, &data));
    std::string text(reinterpret_cast<char*>(data.data), data.size);
    gnutls_free(data.data);
    return text;
  }
};

void describe(Certificate& made, const Key& key, const std::string& name, std::time_t begins,
              std::time_t ends) {
  static std::uint32_t next_serial = 1;
  const std::uint32_t serial = htonl(next_serial++);
  gnutls_x509_crt_t certificate = made.certificate;
  require(gnutls_x509_crt_set_version(certificate, 3));
  require(gnutls_x509_crt_set_serial(certificate, &serial, sizeof serial));
  require(gnutls_x509_crt_set_activation_time(certificate, begins));
  require(gnutls_x509_crt_set_expiration_time(certificate, ends));
  require(gnutls_x509_crt_set_dn_by_oid(certificate, GNUTLS_OID_X520_COMMON_NAME, 0, name.data(),
                                        static_cast<unsigned>(name.size())));
  require(gnutls_x509_crt_set_key(certificate, key.key));
}

void set_subject_name(Certificate& leaf, const std::string& name) {
  in_addr address;
  if (inet_pton(AF_INET, name.c_str(), &address) == 1) {
    require(gnutls_x509_crt_set_subject_alt_name(leaf.certificate, GNUTLS_SAN_IPADDRESS, &address,
                                                 sizeof address, GNUTLS_FSAN_SET));
  } else {
    require(gnutls_x509_crt_set_subject_alt_name(leaf.certificate, GNUTLS_SAN_DNSNAME, name.data(),
                                                 static_cast<unsigned>(name.size()),
                                                 GNUTLS_FSAN_SET));
  }
}

std::string export_key(const Key& key) {
  gnutls_datum_t data{};
  require(gnutls_x509_privkey_export2(key.key, GNUTLS_X509_FMT_PEM, &data));
  std::string text(reinterpret_cast<char*>(data.data), data.size);
  gnutls_free(data.data);
  return text;
}

std::array<std::uint8_t, 32> public_key_hash(const Certificate& made) {
  std::array<std::uint8_t, 32> hash{};
  gnutls_pubkey_t key = nullptr;
  gnutls_datum_t der{};
  require(gnutls_pubkey_init(&key));
  require(gnutls_pubkey_import_x509(key, made.certificate, 0));
  require(gnutls_pubkey_export2(key, GNUTLS_X509_FMT_DER, &der));
  require(gnutls_hash_fast(GNUTLS_DIG_SHA256, der.data, der.size, hash.data()));
  gnutls_free(der.data);
  gnutls_pubkey_deinit(key);
  return hash;
}

}  // namespace

TestCertificate make_certificate(const CertificateRequest& request) {
  const std::time_t now = std::time(nullptr);
  const Key authority_key(false);
  Certificate authority;
  // Each authority has its own name; otherwise verification would find that of another test.
  static int authorities = 0;
  describe(authority, authority_key, "Test authority " + std::to_string(++authorities), now - 86400,
           now + 86400);
  require(gnutls_x509_crt_set_ca_status(authority.certificate, 1));
  require(gnutls_x509_crt_sign2(authority.certificate, authority.certificate, authority_key.key,
                                GNUTLS_DIG_SHA256, 0));

  const Key key(request.rsa);
  Certificate leaf;
  describe(leaf, key, request.name, now + request.begins_in, now + request.ends_in);
  set_subject_name(leaf, request.name);
  require(gnutls_x509_crt_sign2(leaf.certificate, authority.certificate, authority_key.key,
                                GNUTLS_DIG_SHA256, 0));

  TestCertificate result;
  result.authority_pem = authority.pem();
  result.certificate_pem = leaf.pem();
  for (int i = 0; i < request.padding_certificates; ++i) {
    result.certificate_pem += result.authority_pem;
  }
  result.private_key_pem = export_key(key);
  gnutls_datum_t der{};
  require(gnutls_x509_crt_export2(leaf.certificate, GNUTLS_X509_FMT_DER, &der));
  require(gnutls_hash_fast(GNUTLS_DIG_SHA256, der.data, der.size, result.leaf_hash.data()));
  gnutls_free(der.data);
  result.public_key_hash = public_key_hash(leaf);
  return result;
}

}  // namespace sheaf::quic
