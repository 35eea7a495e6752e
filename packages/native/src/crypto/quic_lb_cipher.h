#pragma once

#include <gnutls/crypto.h>

#include <array>
#include <cstdint>
#include <memory>
#include <type_traits>

#include "util/bytes.h"

namespace sheaf::quic {

// AES-128 over the server id and the nonce of a connection id
// (draft-ietf-quic-load-balancers-21 §5.4): one block for 16 bytes, else a Feistel network of four
// passes. Two inputs never have the same output.
class QuicLbCipher {
 public:
  static constexpr std::size_t k_min_length = 5;
  static constexpr std::size_t k_max_length = 19;
  static constexpr std::size_t k_key_length = 16;
  using Key = std::array<std::uint8_t, k_key_length>;

  // `length` is the number of bytes that each call gets.
  QuicLbCipher(const Key& key, std::size_t length);

  void encrypt(MutableBytes bytes);
  void decrypt(MutableBytes bytes);

 private:
  using Block = std::array<std::uint8_t, 16>;
  static constexpr unsigned k_passes = 4;
  struct Free {
    void operator()(gnutls_cipher_hd_t handle) const { gnutls_cipher_deinit(handle); }
  };
  // The halves share the byte in the middle of an odd number of bytes, four bits each.
  struct Halves {
    std::array<std::uint8_t, k_max_length / 2 + 1> left{}, right{};
  };

  Halves split(Bytes bytes) const;
  void join(const Halves& halves, MutableBytes bytes) const;
  void pass(Halves& halves, unsigned number);
  void encrypt_block(MutableBytes block);
  void start_block();

  std::size_t length_;
  std::size_t half_;
  std::unique_ptr<std::remove_pointer_t<gnutls_cipher_hd_t>, Free> aes_;
};

}  // namespace sheaf::quic
