#include "direct_return/grant_sealer.h"

#include <algorithm>

namespace sheaf::quic {

namespace {

std::unique_ptr<Aead> aead_of(Bytes key) {
  PacketKeys keys;  // the IV is zero, so the nonce is the counter
  std::ranges::copy(key, keys.key.begin());
  keys.key_length = static_cast<std::uint8_t>(key.size());
  return make_aead(CipherSuite::kAes256GcmSha384, keys, CryptoProvider::kGnuTls);
}

}  // namespace

GrantSealer::GrantSealer(std::span<const std::uint8_t, k_key_length> key, Bytes associated)
    : aead_(aead_of(key)), associated_(associated.begin(), associated.end()) {}

std::vector<std::uint8_t> GrantSealer::seal(MutableBytes grant) {
  ++counter_;
  // What is authenticated lies before the grant, as the header of a packet does.
  std::vector<std::uint8_t> sealed(associated_);
  sealed.insert(sealed.end(), grant.begin(), grant.end());
  sealed.resize(sealed.size() + k_aead_tag_length);
  wipe(grant.data(), grant.size());
  const SealJob job{.packet = sealed.data(),
                    .payload_length = static_cast<std::uint32_t>(grant.size()),
                    .header_length = static_cast<std::uint16_t>(associated_.size()),
                    .packet_number_length = 0,
                    .path = {},
                    .number = counter_};
  aead_->seal({&job, 1});
  std::vector<std::uint8_t> message;
  message.reserve(k_counter_length + sealed.size() - associated_.size());
  for (std::size_t i = k_counter_length; i-- > 0;) {
    message.push_back(static_cast<std::uint8_t>(counter_ >> (8 * i)));
  }
  message.insert(message.end(), sealed.begin() + static_cast<std::ptrdiff_t>(associated_.size()),
                 sealed.end());
  return message;
}

}  // namespace sheaf::quic
