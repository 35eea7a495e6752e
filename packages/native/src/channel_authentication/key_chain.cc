#include "channel_authentication/key_chain.h"

#include <algorithm>
#include <string_view>

#include "channel_authentication/flight_hashes.h"
#include "util/equal_tags.h"

namespace sheaf::quic {
namespace {

constexpr std::string_view k_chain_label = "sheaf channel chain";
constexpr std::string_view k_mac_label = "sheaf channel mac";
constexpr std::string_view k_seed_label = "sheaf channel seed";

// HMAC-SHA256 with the key, of a label, the channel and more, in 16 bytes
MacKey derive(const ChannelId& channel, const ChainKey& key, std::string_view label,
              Bytes more = {}) {
  std::array<std::uint8_t, k_chain_label.size() + k_channel_id_length + 4> text;
  Writer out(text);
  out.write_bytes(as_bytes(label));
  out.write_bytes(channel);
  out.write_bytes(more);
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

KeyChain::KeyChain(const ChannelId& channel, const ChainKey& secret)
    : channel_(channel), secret_{secret} {}

KeyChain::Keys& KeyChain::load(std::uint32_t chain) {
  Chain& place = chains_[chain & 1];
  if (place.index == chain) return place.keys;
  std::array<std::uint8_t, 4> index;
  store(index.data(), chain);
  place.keys[k_chain_length] = derive(channel_, secret_.value, k_seed_label, index);
  for (std::uint32_t i = k_chain_length; i > 0; --i) {
    place.keys[i - 1] = previous_chain_key(channel_, place.keys[i]);
  }
  place.index = chain;
  return place.keys;
}

ChainKey KeyChain::key(std::uint32_t interval) {
  const std::uint32_t chain = chain_of(interval);
  return load(chain)[interval - chain * k_chain_length];
}

DisclosedKeys::DisclosedKeys(const ChannelId& channel, std::uint32_t interval,
                             const ChainKey& known)
    : channel_(channel) {
  if (interval % k_chain_length == 0) {
    begin_chain(interval / k_chain_length, known);
  } else {
    replace(interval, known);
  }
}

void DisclosedKeys::begin_chain(std::uint32_t chain, const ChainKey& commitment) {
  chain_ = chain;
  latest_ = {chain * k_chain_length, commitment};
  next_.reset();
}

void DisclosedKeys::replace(std::uint32_t interval, const ChainKey& key) {
  if (chain_of(interval) != chain_) next_.reset();
  chain_ = chain_of(interval);
  latest_ = {interval, key};
  const std::uint32_t in_chain = interval - chain_ * k_chain_length;
  ChainKey step = key;
  for (std::uint32_t back = 0; back < std::min(k_kept, in_chain); ++back) {
    place(keys_, interval - back) = {interval - back, step};
    step = previous_chain_key(channel_, step);
  }
}

void DisclosedKeys::commit(std::uint32_t chain, const ChainKey& commitment) {
  if (chain == chain_ + 1) {
    next_ = {chain * k_chain_length, commitment};
  } else if (chain > chain_) {
    begin_chain(chain, commitment);
  }
}

const DisclosedKeys::Kept* DisclosedKeys::proof_of(std::uint32_t chain) const {
  if (chain == chain_) return &latest_;
  return next_ && chain == chain_ + 1 ? &*next_ : nullptr;
}

DisclosedKeys::Outcome DisclosedKeys::add(std::uint32_t interval, const ChainKey& key) {
  if (interval <= latest_.interval) return Outcome::kKnown;
  const std::uint32_t chain = chain_of(interval);
  const Kept* proof = proof_of(chain);
  if (proof == nullptr || interval - proof->interval > k_max_steps) return Outcome::kTooFar;
  const std::uint32_t fresh = std::min(interval - proof->interval, k_kept);
  ChainKey step = key;
  for (std::uint32_t index = interval; index > proof->interval; --index) {
    if (interval - index < fresh) place(scratch_, index) = {index, step};
    step = previous_chain_key(channel_, step);
  }
  if (!equal_tags(step.data(), proof->key.data())) return Outcome::kForged;
  for (std::uint32_t i = 0; i < fresh; ++i) {
    place(keys_, interval - i) = place(scratch_, interval - i);
  }
  if (chain != chain_) next_.reset();
  chain_ = chain;
  latest_ = {interval, key};
  return Outcome::kNew;
}

std::optional<MacKey> DisclosedKeys::mac_key(std::uint32_t interval) const {
  const Kept& kept = keys_[interval % k_kept];
  if (interval == 0 || kept.interval != interval) return std::nullopt;
  return mac_key_of(channel_, kept.key);
}

}  // namespace sheaf::quic
