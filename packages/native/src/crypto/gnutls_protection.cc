#include "crypto/gnutls_protection.h"

#include <gnutls/crypto.h>

#include <cstdlib>

namespace sheaf::quic {
namespace {

gnutls_cipher_algorithm_t aead_algorithm(CipherSuite suite) {
  switch (suite) {
    case CipherSuite::kAes128GcmSha256:
      return GNUTLS_CIPHER_AES_128_GCM;
    case CipherSuite::kAes256GcmSha384:
      return GNUTLS_CIPHER_AES_256_GCM;
    case CipherSuite::kChacha20Poly1305Sha256:
      return GNUTLS_CIPHER_CHACHA20_POLY1305;
  }
  std::abort();
}

gnutls_datum_t datum(const PacketKeys& keys) {
  return {const_cast<std::uint8_t*>(keys.key.data()), keys.key_length};
}

class GnuTlsAead final : public Aead {
 public:
  GnuTlsAead(gnutls_aead_cipher_hd_t handle, const PacketKeys& keys) : handle_(handle) {
    iv_.value = keys.iv;
  }
  ~GnuTlsAead() override { gnutls_aead_cipher_deinit(handle_); }  // wipes its key

  void seal(std::span<const SealJob> jobs) override {
    for (const SealJob& job : jobs) {
      const Nonce nonce = make_nonce(iv_.value, job.path, job.number);
      std::uint8_t* payload = job.packet + job.header_length;
      std::size_t sealed_length = job.payload_length + k_aead_tag_length;
      // A packet must not leave in clear. A failure here is our own bug.
      if (gnutls_aead_cipher_encrypt(handle_, nonce.data(), nonce.size(), job.packet,
                                     job.header_length, k_aead_tag_length, payload,
                                     job.payload_length, payload, &sealed_length) != 0) {
        std::abort();
      }
    }
  }

  bool open(Bytes header, Bytes payload, PathId path, PacketNumber number,
            std::uint8_t* out) override {
    if (payload.size() < k_aead_tag_length) return false;
    const Nonce nonce = make_nonce(iv_.value, path, number);
    std::size_t opened_length = payload.size() - k_aead_tag_length;
    return gnutls_aead_cipher_decrypt(handle_, nonce.data(), nonce.size(), header.data(),
                                      header.size(), k_aead_tag_length, payload.data(),
                                      payload.size(), out, &opened_length) == 0;
  }

 private:
  gnutls_aead_cipher_hd_t handle_;
  Wiped<Nonce> iv_;
};

// Header protection by AES (RFC 9001 §5.4.3), as CBC with a zero IV over one block, since GnuTLS
// has no ECB, or by ChaCha20 (§5.4.4)
class GnuTlsHeaderProtection final : public HeaderProtection {
 public:
  GnuTlsHeaderProtection(gnutls_cipher_hd_t handle, bool chacha)
      : handle_(handle), chacha_(chacha) {}
  ~GnuTlsHeaderProtection() override { gnutls_cipher_deinit(handle_); }

  void mask(const std::uint8_t* sample, std::uint8_t out[5]) override {
    std::uint8_t block[k_header_protection_sample_length] = {};
    encrypt(sample, block);
    std::memcpy(out, block, 5);
  }

  void protect(std::span<const SealJob> jobs) override {
    for (const SealJob& job : jobs) {
      std::uint8_t bytes[5];
      mask(header_protection_sample(job), bytes);
      apply_mask(job, bytes);
    }
  }

 private:
  // Encrypts a sample. `block` holds zeros.
  void encrypt(const std::uint8_t* sample, std::uint8_t* block) {
    if (chacha_) {
      gnutls_cipher_set_iv(handle_, const_cast<std::uint8_t*>(sample),
                           k_header_protection_sample_length);
      if (gnutls_cipher_encrypt(handle_, block, 5) != 0) std::abort();
      return;
    }
    gnutls_cipher_set_iv(handle_, block, k_header_protection_sample_length);
    if (gnutls_cipher_encrypt2(handle_, sample, k_header_protection_sample_length, block,
                               k_header_protection_sample_length) != 0) {
      std::abort();
    }
  }

  gnutls_cipher_hd_t handle_;
  bool chacha_;
};

}  // namespace

std::unique_ptr<Aead> make_gnutls_aead(CipherSuite suite, const PacketKeys& keys) {
  gnutls_aead_cipher_hd_t handle = nullptr;
  const gnutls_datum_t key = datum(keys);
  if (gnutls_aead_cipher_init(&handle, aead_algorithm(suite), &key) != 0) return nullptr;
  return std::make_unique<GnuTlsAead>(handle, keys);
}

std::unique_ptr<HeaderProtection> make_gnutls_header_protection(CipherSuite suite,
                                                                const PacketKeys& keys) {
  const bool chacha = suite == CipherSuite::kChacha20Poly1305Sha256;
  const auto algorithm = chacha                  ? GNUTLS_CIPHER_CHACHA20_32
                         : keys.key_length == 16 ? GNUTLS_CIPHER_AES_128_CBC
                                                 : GNUTLS_CIPHER_AES_256_CBC;
  gnutls_cipher_hd_t handle = nullptr;
  const gnutls_datum_t key = datum(keys);
  std::uint8_t zeros[k_header_protection_sample_length] = {};
  const gnutls_datum_t iv{zeros, sizeof zeros};
  if (gnutls_cipher_init(&handle, algorithm, &key, &iv) != 0) return nullptr;
  return std::make_unique<GnuTlsHeaderProtection>(handle, chacha);
}

}  // namespace sheaf::quic
