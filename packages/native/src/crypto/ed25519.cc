#include "crypto/ed25519.h"

#include <gnutls/abstract.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "crypto/wipe.h"

namespace sheaf::quic {
namespace {

gnutls_datum_t to_datum(Bytes bytes) {
  return {const_cast<std::uint8_t*>(bytes.data()), static_cast<unsigned>(bytes.size())};
}

// Copies what the library allocated, and frees it.
template <std::size_t length>
std::array<std::uint8_t, length> take(gnutls_datum_t& datum) {
  std::array<std::uint8_t, length> bytes{};
  if (datum.size != length) std::abort();
  std::copy_n(datum.data, length, bytes.begin());
  gnutls_free(datum.data);
  return bytes;
}

}  // namespace

struct SigningKey::State {
  ~State() { gnutls_privkey_deinit(key); }
  gnutls_privkey_t key = nullptr;
};

// Only the import of PKCS #8 computes the public key of a seed.
SigningKey::SigningKey(const Ed25519Seed& seed) : state_(std::make_unique<State>()) {
  // RFC 8410 §7: version 0, algorithm 1.3.101.112, and the seed in two octet strings
  constexpr std::array<std::uint8_t, 16> k_prefix{0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06,
                                                  0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20};
  Wiped<std::array<std::uint8_t, k_prefix.size() + sizeof seed>> encoded;
  std::ranges::copy(k_prefix, encoded.value.begin());
  std::ranges::copy(seed, encoded.value.begin() + k_prefix.size());
  const gnutls_datum_t datum = to_datum(encoded.value);
  if (gnutls_privkey_init(&state_->key) != 0 ||
      gnutls_privkey_import_x509_raw(state_->key, &datum, GNUTLS_X509_FMT_DER, nullptr, 0) != 0) {
    std::abort();
  }
}

SigningKey::~SigningKey() = default;

Ed25519PublicKey SigningKey::public_key() const {
  gnutls_datum_t x{};
  if (gnutls_privkey_export_ecc_raw(state_->key, nullptr, &x, nullptr, nullptr) != 0) std::abort();
  return take<32>(x);
}

Ed25519Signature SigningKey::sign(Bytes message) const {
  const gnutls_datum_t data = to_datum(message);
  gnutls_datum_t signature{};
  if (gnutls_privkey_sign_data2(state_->key, GNUTLS_SIGN_EDDSA_ED25519, 0, &data, &signature) !=
      0) {
    std::abort();
  }
  return take<64>(signature);
}

struct VerifyingKey::State {
  ~State() {
    if (key != nullptr) gnutls_pubkey_deinit(key);
  }
  gnutls_pubkey_t key = nullptr;
};

VerifyingKey::VerifyingKey(const Ed25519PublicKey& key) : state_(std::make_unique<State>()) {
  const gnutls_datum_t x = to_datum(key);
  if (gnutls_pubkey_init(&state_->key) != 0) std::abort();
  // The key came with an offer. One that is refused verifies nothing.
  if (gnutls_pubkey_import_ecc_raw(state_->key, GNUTLS_ECC_CURVE_ED25519, &x, nullptr) != 0) {
    gnutls_pubkey_deinit(std::exchange(state_->key, nullptr));
  }
}

VerifyingKey::~VerifyingKey() = default;

bool VerifyingKey::verify(Bytes message, const Ed25519Signature& signature) const {
  if (state_->key == nullptr) return false;
  const gnutls_datum_t data = to_datum(message);
  const gnutls_datum_t proof = to_datum(signature);
  return gnutls_pubkey_verify_data2(state_->key, GNUTLS_SIGN_EDDSA_ED25519, 0, &data, &proof) >= 0;
}

}  // namespace sheaf::quic
