#pragma once

#include <optional>
#include <vector>

#include "crypto/channel_secret.h"
#include "crypto/packet_mac.h"
#include "crypto/wiped_bytes.h"

namespace sheaf::quic {

// Keys of the scheme `timed` (RFC 4082 §3.2): each key is a hash of the next one, so that a
// disclosed key proves itself by an earlier one, and none tells a later one.
using ChainKey = MacKey;
ChainKey previous_chain_key(const ChannelId& channel, const ChainKey& key);
// The key of an interval's MACs
MacKey mac_key_of(const ChannelId& channel, const ChainKey& key);

// The chain at the source. Keeps each 256th key, and those of the present stretch.
class KeyChain {
 public:
  static constexpr std::uint32_t k_stretch = 256;

  // Makes the keys 0 to `length` of a seed, which is the last of them.
  KeyChain(const ChannelId& channel, const ChainKey& seed, std::uint32_t length);

  std::uint32_t length() const { return length_; }
  ChainKey commitment() { return key(0); }
  // `index` is at most `length`.
  ChainKey key(std::uint32_t index);

 private:
  using Keys = std::vector<ChainKey, WipingAllocator<ChainKey>>;
  void load(std::uint32_t stretch);

  ChannelId channel_;
  std::uint32_t length_;
  Keys ends_;     // the last key of each stretch
  Keys present_;  // keys of the stretch that is in use
  std::uint32_t loaded_ = UINT32_MAX;
};

// The chain at a member: the latest key that was disclosed, and those shortly before
class DisclosedKeys {
 public:
  static constexpr std::uint32_t k_kept = 64;
  // Keys that may be computed for one disclosed key
  static constexpr std::uint32_t k_max_steps = 1024;

  // `known` is the key of `interval`, which came by a trusted way: 0 is the commitment.
  DisclosedKeys(const ChannelId& channel, std::uint32_t interval, const ChainKey& known);

  enum class Outcome : std::uint8_t { kNew, kKnown, kForged, kTooFar };
  Outcome add(std::uint32_t interval, const ChainKey& key);
  // Goes on from a later key that came by a trusted way.
  void replace(std::uint32_t interval, const ChainKey& key);
  std::uint32_t latest() const { return latest_; }
  // Nothing for an interval that is not disclosed, or too long ago
  std::optional<MacKey> mac_key(std::uint32_t interval) const;

 private:
  ChannelId channel_;
  std::uint32_t latest_ = 0;
  std::array<ChainKey, k_kept> keys_{};  // by the interval's lowest bits
  std::array<ChainKey, k_kept> scratch_{};
};

}  // namespace sheaf::quic
