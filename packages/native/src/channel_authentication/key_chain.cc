#include "channel_authentication/key_chain.h"

#include <algorithm>
#include <cassert>
#include <string_view>

#include "channel_authentication/flight_hashes.h"
#include "util/equal_tags.h"

namespace sheaf::quic {
namespace {

constexpr std::string_view k_chain_label = "sheaf channel chain";
constexpr std::string_view k_mac_label = "sheaf channel mac";

// HMAC-SHA256 with the key, of a label and the channel, in 16 bytes
MacKey derive(const ChannelId& channel, const ChainKey& key, std::string_view label) {
  std::array<std::uint8_t, k_chain_label.size() + k_channel_id_length> text;
  Writer out(text);
  out.write_bytes(as_bytes(label));
  out.write_bytes(channel);
  Wiped<Sha256Digest> digest;
  digest.value = hmac_sha256(key, out.written());
  MacKey derived;
  std::copy_n(digest.value.begin(), derived.size(), derived.begin());
  return derived;
}

}  // namespace

ChainKey previous_chain_key(const ChannelId& channel, const ChainKey& key) {
  return derive(channel, key, k_chain_label);
}

MacKey mac_key_of(const ChannelId& channel, const ChainKey& key) {
  return derive(channel, key, k_mac_label);
}

KeyChain::KeyChain(const ChannelId& channel, const ChainKey& seed, std::uint32_t length)
    : channel_(channel), length_(length), ends_(length / k_stretch + 1), present_(k_stretch) {
  ChainKey key = seed;
  for (std::uint32_t index = length;; --index) {
    if (index == length || index % k_stretch == k_stretch - 1) ends_[index / k_stretch] = key;
    if (index == 0) break;
    key = previous_chain_key(channel, key);
  }
  wipe(key.data(), key.size());
}

void KeyChain::load(std::uint32_t stretch) {
  const std::uint32_t first = stretch * k_stretch;
  const std::uint32_t last = std::min(first + k_stretch - 1, length_);
  present_[last - first] = ends_[stretch];
  for (std::uint32_t i = last - first; i > 0; --i) {
    present_[i - 1] = previous_chain_key(channel_, present_[i]);
  }
  loaded_ = stretch;
}

ChainKey KeyChain::key(std::uint32_t index) {
  assert(index <= length_);
  if (index / k_stretch != loaded_) load(index / k_stretch);
  return present_[index % k_stretch];
}

DisclosedKeys::DisclosedKeys(const ChannelId& channel, std::uint32_t interval,
                             const ChainKey& known)
    : channel_(channel) {
  replace(interval, known);
}

void DisclosedKeys::replace(std::uint32_t interval, const ChainKey& key) {
  ChainKey step = key;
  for (std::uint32_t back = 0; back < k_kept && back <= interval; ++back) {
    keys_[(interval - back) % k_kept] = step;
    step = previous_chain_key(channel_, step);
  }
  latest_ = interval;
}

DisclosedKeys::Outcome DisclosedKeys::add(std::uint32_t interval, const ChainKey& key) {
  if (interval <= latest_) return Outcome::kKnown;
  if (interval - latest_ > k_max_steps) return Outcome::kTooFar;
  ChainKey step = key;
  for (std::uint32_t index = interval; index > latest_; --index) {
    if (interval - index < k_kept) scratch_[index % k_kept] = step;
    step = previous_chain_key(channel_, step);
  }
  if (!equal_tags(step.data(), keys_[latest_ % k_kept].data())) return Outcome::kForged;
  const std::uint32_t fresh = std::min(interval - latest_, k_kept);
  for (std::uint32_t i = 0; i < fresh; ++i) {
    keys_[(interval - i) % k_kept] = scratch_[(interval - i) % k_kept];
  }
  latest_ = interval;
  return Outcome::kNew;
}

std::optional<MacKey> DisclosedKeys::mac_key(std::uint32_t interval) const {
  if (interval == 0 || interval > latest_ || latest_ - interval >= k_kept) return std::nullopt;
  return mac_key_of(channel_, keys_[interval % k_kept]);
}

}  // namespace sheaf::quic
