#include "connection/routable_ids.h"

#include <algorithm>

#include "crypto/wipe.h"
#include "wire/fixed_fields.h"

namespace sheaf::quic {

namespace {

QuicLbCipher::Key key_of(const ServerSecret& secret, std::string_view label) {
  QuicLbCipher::Key key;
  derive_key(secret, label, key);
  return key;
}

}  // namespace

QuicLbCipher::Key balancer_key(const ServerSecret& secret) {
  return key_of(secret, "sheaf quic-lb");
}

RoutableIds::RoutableIds(const Server& server, const ServerSecret& secret, std::uint8_t number,
                         std::shared_ptr<Nonces> nonces)
    : server_id_(server.id), number_(number), nonces_(std::move(nonces)) {
  Wiped<QuicLbCipher::Key> key;
  if (server.encrypted) {
    key.value = balancer_key(secret);
    cipher_.emplace(key.value, server_id_.size() + k_nonce_length);
  } else {
    key.value = key_of(secret, "sheaf nonces");
    scrambler_.emplace(key.value, k_nonce_length);
  }
}

std::uint8_t RoutableIds::first_byte() const {
  return static_cast<std::uint8_t>(number_ << k_secret_number_shift | (id_length() - 1));
}

ConnectionId RoutableIds::make(Random& random) {
  ConnectionId id;
  id.length = static_cast<std::uint8_t>(id_length());
  id.bytes[0] = first_byte();
  const MutableBytes rest = routed(id);
  std::ranges::copy(server_id_, rest.begin());
  const MutableBytes nonce = rest.last(k_nonce_length);
  Writer writer{nonce};
  fixed::write_u64(writer, nonces_->take());
  if (scrambler_) scrambler_->encrypt(nonce);
  if (cipher_) cipher_->encrypt(rest);
  id.bytes[id_length() - 1] = static_cast<std::uint8_t>(random.next());
  return id;
}

std::optional<std::vector<std::uint8_t>> RoutableIds::server_of(const ConnectionId& id) {
  if (id.length != id_length() || id.bytes[0] != first_byte()) return std::nullopt;
  ConnectionId copy = id;
  const MutableBytes rest = routed(copy);
  if (cipher_) cipher_->decrypt(rest);
  const Bytes server = rest.first(server_id_.size());
  return std::vector<std::uint8_t>(server.begin(), server.end());
}

}  // namespace sheaf::quic
