#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace sheaf::quic {

struct CertificateRequest {
  std::string name = "localhost";
  std::int64_t begins_in = -3600;  // seconds from now
  std::int64_t ends_in = 3600;
  bool rsa = false;
  // Number of authorities above the certificate, each with a certificate of about 800 bytes, which
  // makes the chain long.
  int padding_certificates = 0;
};

// Makes a new authority, key and certificate, and stores nothing.
struct TestCertificate {
  std::string authority_pem;
  std::string certificate_pem;  // leaf first
  std::string private_key_pem;
  std::array<std::uint8_t, 32> leaf_hash{};
  std::array<std::uint8_t, 32> public_key_hash{};  // of its SubjectPublicKeyInfo
};
TestCertificate make_certificate(const CertificateRequest& request = {});

}  // namespace sheaf::quic
