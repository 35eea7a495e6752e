#pragma once

#include <array>
#include <memory>

#include "crypto/packet_protection.h"

namespace sheaf::quic {

using Sha256Digest = std::array<std::uint8_t, 32>;

// Computes SHA-256 of many messages, where the processor can of several at once. An object serves
// one thread at a time.
class BatchHasher {
 public:
  virtual ~BatchHasher() = default;
  // Writes the digest of each message. `digests` is as long as `messages`.
  virtual void hash(std::span<const Bytes> messages, std::span<Sha256Digest> digests) = 0;

  Sha256Digest hash_one(Bytes message) {
    Sha256Digest digest;
    hash({&message, 1}, {&digest, 1});
    return digest;
  }
};

// Returns null for `kIpsecMb` where the library is absent.
std::unique_ptr<BatchHasher> make_batch_hasher(
    CryptoProvider provider = CryptoProvider::kAutomatic);

// SHA-256 of bytes that come in pieces
class RunningHash {
 public:
  RunningHash();
  RunningHash(RunningHash&&) noexcept;
  RunningHash& operator=(RunningHash&&) noexcept;
  ~RunningHash();
  void update(Bytes bytes);
  // Returns the digest of all pieces, and begins again.
  Sha256Digest finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// HMAC with SHA-256 (RFC 2104)
Sha256Digest hmac_sha256(Bytes key, Bytes message);

}  // namespace sheaf::quic
