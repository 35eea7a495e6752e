#pragma once

#include <optional>
#include <vector>

#include "channel_authentication/timed_schedule.h"
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

// A chain has keys for so many intervals: chain 0 for those from 1 on, chain 1 for the next ones.
// The source computes a whole chain at once, so that a channel has no end.
inline constexpr std::uint32_t k_chain_length = 2048;
inline constexpr std::uint32_t k_last_chain = TimedSchedule::k_last / k_chain_length;
inline constexpr std::uint32_t chain_of(std::uint32_t interval) {
  return interval == 0 ? 0 : (interval - 1) / k_chain_length;
}

// The chains at the source: two of them at a time, the present one and the one before or behind it
class KeyChain {
 public:
  // All chains follow from the secret.
  KeyChain(const ChannelId& channel, const ChainKey& secret);

  // The key before the first interval's: it proves the others, and no packet
  ChainKey commitment(std::uint32_t chain = 0) { return load(chain)[0]; }
  ChainKey key(std::uint32_t interval);

 private:
  using Keys = std::vector<ChainKey, WipingAllocator<ChainKey>>;
  struct Chain {
    std::uint32_t index = UINT32_MAX;
    Keys keys = Keys(k_chain_length + 1);  // the commitment, then those of the intervals
  };
  Keys& load(std::uint32_t chain);

  ChannelId channel_;
  Wiped<ChainKey> secret_;
  std::array<Chain, 2> chains_;  // by the lowest bit of their index
};

// The chains at a member: the latest key that was disclosed, those shortly before, and the
// commitment of the next chain
class DisclosedKeys {
 public:
  static constexpr std::uint32_t k_kept = 64;
  // Keys that may be computed for one disclosed key
  static constexpr std::uint32_t k_max_steps = 1024;

  // `known` is the key of `interval`, which came by a trusted way. At a chain's length and its
  // multiples, 0 among them, it is the commitment of the chain that follows.
  DisclosedKeys(const ChannelId& channel, std::uint32_t interval, const ChainKey& known);

  // kTooFar: no key that is known here is near enough to prove this one.
  enum class Outcome : std::uint8_t { kNew, kKnown, kForged, kTooFar };
  Outcome add(std::uint32_t interval, const ChainKey& key);
  // Goes on from a later key that came by a trusted way.
  void replace(std::uint32_t interval, const ChainKey& key);
  // Takes a chain's commitment, which came by a trusted way.
  void commit(std::uint32_t chain, const ChainKey& commitment);
  std::uint32_t latest() const { return latest_.interval; }
  // Nothing for an interval that is not disclosed, or too long ago
  std::optional<MacKey> mac_key(std::uint32_t interval) const;

 private:
  // A key by its interval; 0: none
  struct Kept {
    std::uint32_t interval = 0;
    ChainKey key{};
  };
  void begin_chain(std::uint32_t chain, const ChainKey& commitment);
  // Returns the key that proves those of a chain, or null.
  const Kept* proof_of(std::uint32_t chain) const;
  static Kept& place(std::array<Kept, k_kept>& keys, std::uint32_t interval) {
    return keys[interval % k_kept];
  }

  ChannelId channel_;
  std::uint32_t chain_ = 0;
  Kept latest_;               // of the chain; may be its commitment
  std::optional<Kept> next_;  // the commitment of the chain behind it
  std::array<Kept, k_kept> keys_{};
  std::array<Kept, k_kept> scratch_{};
};

}  // namespace sheaf::quic
