#include "crypto/batch_hasher.h"

#include <gnutls/crypto.h>

#include <cstdlib>

#include "crypto/ipsec_mb_hasher.h"

namespace sheaf::quic {
namespace {

// Hashes cannot fail, except for a library that may not compute them (FIPS mode).
void require(int code) {
  if (code != 0) std::abort();
}

class GnuTlsHasher final : public BatchHasher {
 public:
  GnuTlsHasher() { require(gnutls_hash_init(&handle_, GNUTLS_DIG_SHA256)); }
  ~GnuTlsHasher() override { gnutls_hash_deinit(handle_, nullptr); }
  GnuTlsHasher(const GnuTlsHasher&) = delete;
  GnuTlsHasher& operator=(const GnuTlsHasher&) = delete;

  void hash(std::span<const Bytes> messages, std::span<Sha256Digest> digests) override {
    for (std::size_t i = 0; i < messages.size(); ++i) {
      require(gnutls_hash(handle_, messages[i].data(), messages[i].size()));
      gnutls_hash_output(handle_, digests[i].data());  // begins again
    }
  }

 private:
  gnutls_hash_hd_t handle_ = nullptr;
};

}  // namespace

std::unique_ptr<BatchHasher> make_batch_hasher(CryptoProvider provider) {
  if (provider != CryptoProvider::kGnuTls) {
    auto hasher = make_ipsec_mb_hasher();
    if (hasher || provider == CryptoProvider::kIpsecMb) return hasher;
  }
  return std::make_unique<GnuTlsHasher>();
}

struct RunningHash::State {
  State() { require(gnutls_hash_init(&handle, GNUTLS_DIG_SHA256)); }
  ~State() { gnutls_hash_deinit(handle, nullptr); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  gnutls_hash_hd_t handle = nullptr;
};

RunningHash::RunningHash() : state_(std::make_unique<State>()) {}
RunningHash::RunningHash(RunningHash&&) noexcept = default;
RunningHash& RunningHash::operator=(RunningHash&&) noexcept = default;
RunningHash::~RunningHash() = default;

void RunningHash::update(Bytes bytes) {
  require(gnutls_hash(state_->handle, bytes.data(), bytes.size()));
}

Sha256Digest RunningHash::finish() {
  Sha256Digest digest;
  gnutls_hash_output(state_->handle, digest.data());
  return digest;
}

Sha256Digest hmac_sha256(Bytes key, Bytes message) {
  Sha256Digest digest;
  require(gnutls_hmac_fast(GNUTLS_MAC_SHA256, key.data(), key.size(), message.data(),
                           message.size(), digest.data()));
  return digest;
}

}  // namespace sheaf::quic
