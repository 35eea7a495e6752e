#pragma once

#include <array>
#include <memory>
#include <optional>

#include "util/bytes.h"

namespace sheaf::quic {

using Ed25519Seed = std::array<std::uint8_t, 32>;
using Ed25519PublicKey = std::array<std::uint8_t, 32>;
using Ed25519Signature = std::array<std::uint8_t, 64>;

// Signs messages (RFC 8032 §5.1). May be used by one thread at a time, as VerifyingKey.
class SigningKey {
 public:
  // `seed` is the private key of RFC 8032. The caller wipes it.
  explicit SigningKey(const Ed25519Seed& seed);
  ~SigningKey();
  SigningKey(const SigningKey&) = delete;
  SigningKey& operator=(const SigningKey&) = delete;

  Ed25519PublicKey public_key() const;
  Ed25519Signature sign(Bytes message) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

class VerifyingKey {
 public:
  explicit VerifyingKey(const Ed25519PublicKey& key);
  ~VerifyingKey();
  VerifyingKey(const VerifyingKey&) = delete;
  VerifyingKey& operator=(const VerifyingKey&) = delete;

  bool verify(Bytes message, const Ed25519Signature& signature) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace sheaf::quic
