#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <vector>

#include "util/bytes.h"
#include "util/time.h"

namespace sheaf::quic {

// A hash with a random key of its own, so that nobody can search for colliding strings
class KeyedHash {
 public:
  using Value = std::array<std::uint64_t, 4>;
  KeyedHash();
  Value operator()(Bytes item) const;

 private:
  std::array<std::uint8_t, 32> key_;
};

// A Bloom filter of byte strings that were seen. It never forgets one before `clear`, but takes up
// to a few percent of new strings for seen. It grows with its content, up to a number of bytes.
class BloomFilter {
 public:
  explicit BloomFilter(std::size_t max_bytes) : max_bytes_(max_bytes) {}

  // Adds a string. Returns false when it was seen, or when nothing more can be added.
  bool add(Bytes item);
  bool contains(Bytes item) const;
  std::size_t size() const { return size_; }
  std::size_t capacity() const { return max_bytes_ * 8 / k_bits_per_item; }
  std::size_t memory_bytes() const;
  void clear();

 private:
  static constexpr std::size_t k_bits_per_item = 10;
  static constexpr std::size_t k_probes = 7;
  static constexpr std::size_t k_first_bytes = 16 << 10;
  struct Part {
    std::vector<std::uint64_t> words;
    std::size_t size = 0;  // items
    std::size_t bits() const { return words.size() * 64; }
    bool full() const { return size >= bits() / k_bits_per_item; }
  };

  static std::size_t bit_of(const KeyedHash::Value& hash, std::size_t probe, const Part& part);
  bool contains(const KeyedHash::Value& hash) const;
  // Adds another part, larger than all before. Returns false when that would be too much.
  bool grow();

  std::size_t max_bytes_;
  KeyedHash hash_;
  std::vector<Part> parts_;
  std::size_t size_ = 0;
};

// Remembers strings that are valuable for a while, each for at least a day. Several threads may use
// one.
class SeenFilter {
 public:
  static constexpr Duration k_period = std::chrono::hours(24);

  explicit SeenFilter(std::size_t max_bytes) : recent_(max_bytes / 2), before_(max_bytes / 2) {}
  // Adds a string. Returns false when it was seen before. Once full, no string is new.
  bool add(Bytes item, Time now);

 private:
  std::mutex mutex_;
  BloomFilter recent_;
  BloomFilter before_;
  Time begun_{};
};

}  // namespace sheaf::quic
