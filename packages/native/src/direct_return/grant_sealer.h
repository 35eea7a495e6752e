#pragma once

#include <memory>
#include <vector>

#include "crypto/packet_keys.h"

namespace sheaf::quic {

// Seals grants for one backend with AES-256-GCM. A counter is the nonce, and each is used once.
class GrantSealer {
 public:
  static constexpr std::size_t k_key_length = 32;
  static constexpr std::size_t k_counter_length = 6;

  // `key` is random, and no other sealer has had it. `associated` is authenticated besides: at most
  // 64 KiB.
  GrantSealer(std::span<const std::uint8_t, k_key_length> key, Bytes associated);

  // Returns counter, encrypted grant and tag. Wipes the grant.
  std::vector<std::uint8_t> seal(MutableBytes grant);

 private:
  std::unique_ptr<Aead> aead_;  // wipes its key
  std::vector<std::uint8_t> associated_;
  std::uint64_t counter_ = 0;  // of the last grant; 48 bits outlast every connection
};

}  // namespace sheaf::quic
