#include "crypto/seen_filter.h"

#include <gnutls/crypto.h>

#include <algorithm>
#include <cassert>
#include <utility>

namespace sheaf::quic {

KeyedHash::KeyedHash() {
  [[maybe_unused]] const int result = gnutls_rnd(GNUTLS_RND_NONCE, key_.data(), key_.size());
  assert(result == 0);  // fails only where the library cannot start
}

KeyedHash::Value KeyedHash::operator()(Bytes item) const {
  Value value{};
  [[maybe_unused]] const int result = gnutls_hmac_fast(GNUTLS_MAC_SHA256, key_.data(), key_.size(),
                                                       item.data(), item.size(), value.data());
  assert(result == 0);  // fails only without memory
  return value;
}

// Derives any number of hashes from two; an odd step reaches every bit.
std::size_t BloomFilter::bit_of(const KeyedHash::Value& hash, std::size_t probe, const Part& part) {
  return (hash[0] + probe * (hash[1] | 1)) % part.bits();
}

bool BloomFilter::contains(const KeyedHash::Value& hash) const {
  return std::ranges::any_of(parts_, [&](const Part& part) {
    for (std::size_t i = 0; i < k_probes; ++i) {
      const std::size_t bit = bit_of(hash, i, part);
      if (!(part.words[bit / 64] >> (bit % 64) & 1)) return false;
    }
    return true;
  });
}

bool BloomFilter::contains(Bytes item) const { return !parts_.empty() && contains(hash_(item)); }

bool BloomFilter::grow() {
  const std::size_t held = memory_bytes();
  const std::size_t bytes =
      std::min(std::max(3 * held, k_first_bytes), max_bytes_ - std::min(held, max_bytes_));
  if (bytes < sizeof(std::uint64_t)) return false;
  parts_.push_back({.words = std::vector<std::uint64_t>(bytes / sizeof(std::uint64_t)), .size = 0});
  return true;
}

bool BloomFilter::add(Bytes item) {
  const KeyedHash::Value hash = hash_(item);
  if (contains(hash)) return false;
  if ((parts_.empty() || parts_.back().full()) && !grow()) return false;
  Part& part = parts_.back();
  for (std::size_t i = 0; i < k_probes; ++i) {
    const std::size_t bit = bit_of(hash, i, part);
    part.words[bit / 64] |= std::uint64_t{1} << (bit % 64);
  }
  ++part.size;
  ++size_;
  return true;
}

std::size_t BloomFilter::memory_bytes() const {
  std::size_t bytes = 0;
  for (const Part& part : parts_) bytes += part.words.size() * sizeof(std::uint64_t);
  return bytes;
}

void BloomFilter::clear() {
  parts_.clear();
  size_ = 0;
}

bool SeenFilter::add(Bytes item, Time now) {
  const std::lock_guard lock(mutex_);
  if (now - begun_ >= k_period) {
    begun_ = now;
    std::swap(recent_, before_);
    recent_.clear();
  }
  return !before_.contains(item) && recent_.add(item);
}

}  // namespace sheaf::quic
