#pragma once

#include <algorithm>

#include "util/bytes.h"

namespace sheaf::quic {

// Mixes a word into a hash that tells runs apart. It resists nobody who wants two to be equal.
constexpr std::uint64_t mix_word(std::uint64_t hash, std::uint64_t word) {
  hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
  return hash ^ (hash >> 32);
}

// Hashes bytes by words, since a simulation hashes every datagram.
inline std::uint64_t hash_words(Bytes bytes) {
  std::uint64_t hash = mix_word(0xcbf29ce484222325u, bytes.size());
  while (!bytes.empty()) {
    const std::size_t length = std::min(bytes.size(), sizeof(std::uint64_t));
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data(), length);
    hash = mix_word(hash, word);
    bytes = bytes.subspan(length);
  }
  return hash;
}

}  // namespace sheaf::quic
