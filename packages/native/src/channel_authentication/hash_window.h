#pragma once

#include <optional>
#include <vector>

#include "channel_authentication/flight_hashes.h"

namespace sheaf::quic {

// The hashes that the source signed, of the latest packets
class HashWindow {
 public:
  struct Entry {
    PacketNumber number = k_no_packet_number;
    std::uint64_t key_sequence = 0;
    std::uint8_t length = 0;
    std::array<std::uint8_t, k_max_hash_length> hash{};

    Bytes view() const { return Bytes(hash).first(length); }
  };

  HashWindow() : entries_(k_entries) {}

  // Keeps the hash, unless a later packet has its place.
  void add(PacketNumber number, std::uint64_t key_sequence, Bytes hash) {
    Entry& entry = entries_[number % k_entries];
    if (entry.number != k_no_packet_number && entry.number > number) return;
    entry.number = number;
    entry.key_sequence = key_sequence;
    entry.length = static_cast<std::uint8_t>(hash.size());
    std::copy(hash.begin(), hash.end(), entry.hash.begin());
  }
  const Entry* find(PacketNumber number) const {
    const Entry& entry = entries_[number % k_entries];
    return entry.number == number ? &entry : nullptr;
  }

 private:
  static constexpr std::size_t k_entries = 8192;
  static_assert(k_entries >= k_max_flight_packets);

  std::vector<Entry> entries_;
};

}  // namespace sheaf::quic
